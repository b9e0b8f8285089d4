// kind: race
// bug: a thief reads the task after it has taken it from the deque: the owner may have filled the slot again
// expect: deque slots
#include <atomic>
#include <cstdio>
#include <thread>

// Chase and Lev's deque without growth.
struct Deque {
    static constexpr long size = 2;
    std::atomic<long> top{0}, bottom{0};
#ifdef FIXED
    std::atomic<int> slots[size] = {};
#else
    int slots[size] = {};
#endif

    bool push(int task) {
        long at = bottom.load(std::memory_order_relaxed);
        if (at - top.load(std::memory_order_acquire) >= size) return false;
        slots[at % size] = task;
        bottom.store(at + 1, std::memory_order_release);
        return true;
    }

    bool pop(int &task) {
        long at = bottom.load(std::memory_order_relaxed) - 1;
        bottom.store(at, std::memory_order_seq_cst);
        long first = top.load(std::memory_order_seq_cst);
        bool found = first <= at;
        if (found) task = slots[at % size];
        if (first == at) found = top.compare_exchange_strong(first, first + 1, std::memory_order_seq_cst);
        if (first >= at) bottom.store(at + 1, std::memory_order_relaxed);
        return found;
    }

    bool steal(int &task) {
        long first = top.load(std::memory_order_seq_cst);
        long end = bottom.load(std::memory_order_seq_cst);
        if (first >= end) return false;
#ifdef FIXED
        task = slots[first % size];
        return top.compare_exchange_strong(first, first + 1, std::memory_order_seq_cst);
#else
        if (!top.compare_exchange_strong(first, first + 1, std::memory_order_seq_cst)) return false;
        task = slots[first % size];
        return true;
#endif
    }
};

static Deque deque;

int main() {
    deque.push(1);
    deque.push(2);
    std::thread thief([] {
        int task = 0;
        if (deque.steal(task) && task > 3) std::puts("no such task");
    });
    while (!deque.push(3)) {
    }
    int task = 0;
    deque.pop(task);
    thief.join();
    std::puts("done");
    return 0;
}
