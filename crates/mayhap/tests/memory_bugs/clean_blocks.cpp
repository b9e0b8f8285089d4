// clean: Variables of blocks are used by other threads, and each block waits for them: at its end, in a destructor, in a handler of
// an exception, or by a loop. Blocks take turns on the same part of the stack, are entered again, and are left by jumps.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

static long total;

struct Joins {
    std::thread thread;
    explicit Joins(long *where) : thread([where] { *where += 1; }) {}
    ~Joins() { thread.join(); }
};

static void fails(int when)
{
    if (when > 2)
        throw std::runtime_error("too many");
}

#define COUNTED(n) do { long counted = (n); Joins joins(&counted); total += 1; } while (0)

static long blocks(int n)
{
    long result = 0;
    {
        long first = n;
        Joins joins(&first);
        total += 1;
    }
    total += 1;
    {
        long second[2] = {n, n};
        std::thread thread([&second] { second[1] += 2; });
        thread.join();
        result += second[1];
    }
    total += 1;
    for (int i = 0; i < n; i++) {
        long third = i;
        Joins joins(&third);
        if (i == 1)
            continue;
        total += 1;
    }
    total += 1;
    try {
        long fourth = n;
        Joins joins(&fourth);
        fails(n);
        total += 1;
    } catch (const std::runtime_error &) {
        total += 1;
    }
    total += 1;
    switch (n) {
    case 3: {
        long fifth = n;
        Joins joins(&fifth);
        total += 1;
        break;
    }
    default: {
        long sixth = n;
        Joins joins(&sixth);
        total += 1;
    }
    }
    total += 1;
    COUNTED(n);
    total += 1;
    if (n > 2) {
        std::mutex lock;
        std::condition_variable changed;
        bool done = false;
        std::thread thread([&] {
            std::lock_guard<std::mutex> guard(lock);
            done = true;
            changed.notify_one();
        });
        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [&] { return done; });
        guard.unlock();
        total += 1;
        thread.join();
    } else {
        long other = n;
        Joins joins(&other);
        total += 1;
    }
    total += 1;
    if (n > 2) {
        std::atomic<int> ready{0};
        std::thread thread([&ready] { ready.store(1); });
        thread.detach();
        while (ready.load() == 0)
            std::this_thread::yield();
        total += 1;
    }
    total += 1;
    {
        long last = n;
        Joins joins(&last);
        if (n > 2)
            return total;
    }
    total += 1;
    return result + total;
}

int main()
{
    long all = blocks(2) + blocks(3);
    std::printf("%ld\n", all + total);
    return 0;
}
