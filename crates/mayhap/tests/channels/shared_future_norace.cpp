// One result for three threads, set at the end of its thread.
#include <future>
#include <string>
#include <thread>

int value;

int main() {
    std::promise<std::string> promise;
    std::shared_future<std::string> future = promise.get_future().share();
    auto get = [future] { return future.get().size() + value; };
    std::future<size_t> a = std::async(std::launch::async, get), b = std::async(std::launch::async, get);
    std::thread c([&promise] {
        value = 5;
        promise.set_value_at_thread_exit("hello");
    });
    size_t sum = a.get() + b.get() + get();
    c.join();
    return sum != 30;
}
