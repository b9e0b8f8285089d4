// C++ exceptions in threads: each job may fail some calls down, and is tried again.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static long failures, results;

struct Guard {
    std::vector<int> scratch;
    explicit Guard(int n) : scratch(16, n) {}
    ~Guard() { scratch.clear(); }
};

__attribute__((noinline)) static int parse(int n, int depth) {
    Guard guard(n);
    if (depth > 0)
        return parse(n / 2, depth - 1) + guard.scratch[n & 15];
    if (n % 3 == 0)
        throw std::runtime_error("cannot parse " + std::to_string(n));
    return n;
}

static void work(int from, int jobs) {
    for (int i = from; i < jobs; i += 2) {
        try {
            int result = parse(i, 4);
            std::lock_guard<std::mutex> held(lock);
            results += result;
        } catch (const std::exception &) {
            std::lock_guard<std::mutex> held(lock);
            failures++;
        }
    }
}

int main(int argc, char **argv) {
    int jobs = argc > 1 ? atoi(argv[1]) : 20000;
    std::thread a(work, 0, jobs), b(work, 1, jobs);
    a.join(), b.join();
    printf("%ld %ld\n", failures, results);
}
