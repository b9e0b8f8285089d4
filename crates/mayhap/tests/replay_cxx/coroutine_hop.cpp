// A coroutine goes on in another thread.
#include <coroutine>
#include <exception>
#include <thread>

struct Task {
    struct promise_type {
        Task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

struct Hop {
    std::thread &carrier;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> rest) { carrier = std::thread(rest); }
    void await_resume() {}
};

int tally;

Task hop(std::thread &carrier) {
    int mine = 2;
    co_await Hop{carrier};
    tally += mine;
}

int main() {
    std::thread a, b;
    hop(a);
    hop(b);
    a.join();
    b.join();
}
