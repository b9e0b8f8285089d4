// A coroutine is put into a queue before it has stored its state.
// proven: state
// standard: c++20
#include <condition_variable>
#include <coroutine>
#include <mutex>
#include <thread>

std::mutex lock;
std::condition_variable ready;
std::coroutine_handle<> next;
int state;

struct Hop {
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
        {
            std::lock_guard guard(lock);
            next = handle;
            ready.notify_one();
        }
        state = 1;
    }
    void await_resume() { state++; }
};

struct Task {
    struct promise_type {
        Task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

static Task body() { co_await Hop{}; }

int main() {
    std::jthread other([] {
        std::unique_lock guard(lock);
        ready.wait(guard, [] { return bool(next); });
        guard.unlock();
        next.resume();
    });
    body();
}
