// clean: variables and temporaries of functions that are called in turn lie where those of the others were
#include <cstdio>
#include <future>
#include <thread>

__attribute__((noinline)) static int by_promise(int amount) {
    std::promise<int> promise;
    auto result = promise.get_future();
    std::thread worker([&] { promise.set_value(amount); });
    int value = result.get();
    worker.join();
    return value;
}

__attribute__((noinline)) static int by_task(int amount) {
    return std::async(std::launch::async, [amount] { return amount * 2; }).get();
}

int main() {
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += by_promise(i) + by_task(i);
    std::promise<int> last;
    auto result = last.get_future();
    std::thread([](std::promise<int> promise) { promise.set_value(1); }, std::move(last)).detach();
    printf("%d\n", sum + result.get());
    return 0;
}
