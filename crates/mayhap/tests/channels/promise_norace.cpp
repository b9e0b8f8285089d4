// Promises, shared futures, packaged tasks and exceptions through them.
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <cstdlib>

std::string text;

int main() {
    std::promise<int> promise;
    auto shared = promise.get_future().share();
    std::thread a([&] { if (shared.get() != 3 || text != "ready") std::abort(); });
    std::thread b([&] { if (shared.get() != 3 || text != "ready") std::abort(); });
    text = "ready";
    promise.set_value(3);
    a.join();
    b.join();
    std::packaged_task<int(int)> task([](int n) -> int {
        if (n == 0) throw std::runtime_error("none");
        return n + 1;
    });
    auto result = task.get_future();
    std::thread runs(std::move(task), 0);
    bool threw = false;
    try { result.get(); } catch (const std::runtime_error &) { threw = true; }
    runs.join();
    if (!threw) std::abort();
}
