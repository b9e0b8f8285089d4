// kind: race
// bug: the owner of a deque publishes a task by a relaxed store: the thief may see the slot before the task
// expect: task amount
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>

#ifdef FIXED
static constexpr auto PUBLISH = std::memory_order_release;
#else
static constexpr auto PUBLISH = std::memory_order_relaxed;
#endif

struct Task {
    int amount;
};

static Task task_pool[4];
static std::atomic<Task *> slots[4];
static std::atomic<long> top{0}, bottom{0};

static void push(int number) {
    Task *task = &task_pool[number];
    task->amount = number * 10;
    long at = bottom.load(std::memory_order_relaxed);
    slots[at % 4].store(task, std::memory_order_relaxed);
    bottom.store(at + 1, PUBLISH);
}

static Task *pop() {
    long at = bottom.load(std::memory_order_relaxed) - 1;
    bottom.store(at, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    long first = top.load(std::memory_order_relaxed);
    if (first > at) {
        bottom.store(at + 1, std::memory_order_relaxed);
        return nullptr;
    }
    Task *task = slots[at % 4].load(std::memory_order_relaxed);
    if (first == at) {
        if (!top.compare_exchange_strong(first, first + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) task = nullptr;
        bottom.store(at + 1, std::memory_order_relaxed);
    }
    return task;
}

static Task *steal() {
    long first = top.load(std::memory_order_acquire);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    long end = bottom.load(std::memory_order_acquire);
    if (first >= end) return nullptr;
    Task *task = slots[first % 4].load(std::memory_order_relaxed);
    if (!top.compare_exchange_strong(first, first + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) return nullptr;
    return task;
}

int main() {
    std::thread thief([] {
        usleep(30000);
        if (Task *task = steal()) std::printf("stole %d\n", task->amount);
    });
    push(1);
    push(2);
    push(3);
    if (Task *task = pop()) std::printf("kept %d\n", task->amount);
    thief.join();
    return 0;
}
