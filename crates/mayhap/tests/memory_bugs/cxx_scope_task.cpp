// kind: use-after-free
// effect: use after scope
// also: clang -O2
// bug: A task counts in a variable of the block that started it. The block does not wait for the task, the function goes on.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

static long log_lines;

static long run(bool counts)
{
    std::thread task;
    if (counts) {
        long sum = 0;
        task = std::thread([&sum] {
            for (int i = 1; i <= 3; i++)
                sum += i;
        });
#ifdef FIXED
        task.join();
#else
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
#endif
    }
    log_lines += 1;
    if (task.joinable())
        task.join();
    std::printf("%ld lines\n", log_lines);
    return log_lines;
}

int main()
{
    return run(true) == 1 ? 0 : 1;
}
