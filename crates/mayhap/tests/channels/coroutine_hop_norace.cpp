// A coroutine goes from thread to thread through a queue with a lock.
// standard: c++20
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <thread>

std::mutex lock;
std::condition_variable ready;
std::deque<std::coroutine_handle<>> queue;
bool done;

struct Hop {
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
        std::lock_guard guard(lock);
        queue.push_back(handle);
        ready.notify_one();
    }
    void await_resume() {}
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

static Task body() {
    int local = 0;
    for (int i = 0; i < 5; i++) {
        local++;
        co_await Hop{};
    }
    std::lock_guard guard(lock);
    done = local == 5;
    ready.notify_all();
}

static void work() {
    for (;;) {
        std::unique_lock guard(lock);
        ready.wait(guard, [] { return done || !queue.empty(); });
        if (queue.empty()) return;
        auto handle = queue.front();
        queue.pop_front();
        guard.unlock();
        handle.resume();
    }
}

int main() {
    std::jthread a(work), b(work);
    body();
}
