// kind: use-after-free
// effect: use after free
// bug: a reader walks the characters of a string while another thread makes it grow
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

static std::mutex lock;
static std::string line = "a line that is too long for the small buffer";

static void show() {
    const char *text;
    std::size_t length;
    {
        std::lock_guard<std::mutex> hold(lock);
        text = line.data();
        length = line.size();
#ifdef FIXED
        volatile char last = text[length - 1];
        (void)last;
#endif
    }
#ifndef FIXED
    volatile char last = text[length - 1];
    (void)last;
#endif
}

static void grow() {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::lock_guard<std::mutex> hold(lock);
    line.append(2000, 'x');
}

int main() {
    std::thread a(show), b(grow);
    a.join();
    b.join();
    return 0;
}
