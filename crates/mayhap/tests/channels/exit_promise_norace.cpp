// The value of a promise is there once its thread has ended: the C++ library says so in code that is not recorded.
#include <cstdio>
#include <future>
#include <thread>

std::promise<int> promised;
int value;

struct Last {
    ~Last() { value = 6; }
};

static void work() {
    thread_local Last last;
    (void)&last;
    promised.set_value_at_thread_exit(1);
}

int main() {
    std::thread(work).detach();
    promised.get_future().get();
    std::printf("%d\n", value);
}
