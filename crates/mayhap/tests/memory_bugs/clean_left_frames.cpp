// clean: functions are left by exceptions and by longjmp while a thread uses variables of the function that stays
#include <csetjmp>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::jmp_buf back;

__attribute__((noinline)) static int deeper(int n) {
    volatile int own[6] = {n, n, n, n, n, n};
    if (n == 3) throw std::runtime_error("three");
    if (n == 4) std::longjmp(back, 1);
    return own[n % 6];
}

__attribute__((noinline)) static int between(int n) {
    volatile int own[4] = {n, n, n, n};
    return deeper(n) + own[1];
}

__attribute__((noinline)) static int work() {
    std::mutex lock;
    int shared = 0;
    volatile int sum = 0;
    std::thread helper([&] {
        for (int i = 0; i < 4; i++) {
            std::lock_guard<std::mutex> guard(lock);
            shared++;
        }
    });
    for (int n = 0; n < 4; n++) {
        try {
            sum += between(n);
        } catch (const std::exception &) {
            sum += 100;
        }
        std::lock_guard<std::mutex> guard(lock);
        shared++;
    }
    if (setjmp(back) == 0) sum += between(4);
    helper.join();
    return shared + sum;
}

int main() {
    int first = work();
    std::printf("%d %d\n", first, work());
    return 0;
}
