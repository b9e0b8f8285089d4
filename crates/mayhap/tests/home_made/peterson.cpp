// kind: race
// bug: in Peterson's lock a thread looks at the other before it shows its own interest
// expect: shared_count
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>

static std::atomic<bool> interested[2];
static std::atomic<int> turn{0};
static int shared_count;

static void lock(int me) {
    int other = 1 - me;
#ifdef FIXED
    interested[me].store(true);
    turn.store(other);
    while (interested[other].load() && turn.load() == other) {
    }
#else
    turn.store(other);
    while (interested[other].load() && turn.load() == other) {
    }
    interested[me].store(true);
#endif
}

static void unlock(int me) { interested[me].store(false); }

static void work(int me) {
    usleep(me * 30000);
    for (int round = 0; round < 2; round++) {
        lock(me);
        shared_count++;
        unlock(me);
    }
}

int main() {
    std::thread zero(work, 0), one(work, 1);
    zero.join();
    one.join();
    std::printf("count %d\n", shared_count);
    return 0;
}
