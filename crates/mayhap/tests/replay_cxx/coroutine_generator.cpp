// A generator is resumed step by step.
#include <coroutine>
#include <exception>
#include <thread>

struct Numbers {
    struct promise_type {
        int value = 0;
        Numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int v) {
            value = v;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
    ~Numbers() { handle.destroy(); }
};

int tally;

Numbers count(int end) {
    for (int i = 0; i < end; i++) co_yield i;
}

void work() {
    Numbers numbers = count(5);
    int sum = 0;
    while (numbers.handle.resume(), !numbers.handle.done()) sum += numbers.handle.promise().value;
    tally += sum;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
