// The value of the promise is set before what it announces is complete.
// proven: answer
#include <future>
#include <thread>
#include <cstdlib>

int answer;

int main() {
    std::promise<void> promise;
    auto future = promise.get_future();
    std::thread maker([&] {
        promise.set_value();
        answer = 42;
    });
    future.wait();
    int seen = answer;
    maker.join();
    if (seen != 0 && seen != 42) std::abort();
}
