// kind: race
// bug: a producer of a bounded queue marks the cell as full before it fills it
// expect: queue item cells
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <thread>
#include <unistd.h>

// Dmitry Vyukov's bounded queue: each cell has the number of the operation that may use it next.
class Queue {
    static constexpr size_t size = 4;
    struct Cell {
        std::atomic<size_t> sequence;
        int item;
    };
    Cell cells[size];
    std::atomic<size_t> pushes{0}, pops{0};

public:
    Queue() {
        for (size_t i = 0; i < size; i++) cells[i].sequence.store(i, std::memory_order_relaxed);
    }

    bool push(int item) {
        size_t at = pushes.load(std::memory_order_relaxed);
        for (;;) {
            Cell &cell = cells[at % size];
            size_t sequence = cell.sequence.load(std::memory_order_acquire);
            if (sequence == at) {
                if (!pushes.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
#ifdef FIXED
                cell.item = item;
                cell.sequence.store(at + 1, std::memory_order_release);
#else
                cell.sequence.store(at + 1, std::memory_order_release);
                cell.item = item;
#endif
                return true;
            }
            if (sequence < at) return false;
            at = pushes.load(std::memory_order_relaxed);
        }
    }

    bool pop(int &item) {
        size_t at = pops.load(std::memory_order_relaxed);
        for (;;) {
            Cell &cell = cells[at % size];
            size_t sequence = cell.sequence.load(std::memory_order_acquire);
            if (sequence == at + 1) {
                if (!pops.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
                item = cell.item;
                cell.sequence.store(at + size, std::memory_order_release);
                return true;
            }
            if (sequence < at + 1) return false;
            at = pops.load(std::memory_order_relaxed);
        }
    }
};

static Queue queue;

static void produce(int from) {
    for (int item = from; item < from + 2; item++) {
        while (!queue.push(item)) {
        }
    }
}

static std::atomic<int> sum{0};

static void consume() {
    usleep(30000);
    for (int taken = 0, item; taken < 2; taken++) {
        while (!queue.pop(item)) {
        }
        sum += item;
    }
}

int main() {
    std::thread threads[] = {std::thread(produce, 10), std::thread(produce, 20), std::thread(consume), std::thread(consume)};
    for (auto &thread : threads) thread.join();
    std::printf("sum %d\n", sum.load());
    return 0;
}
