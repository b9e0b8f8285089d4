// kind: race
// bug: the stock is written back after the queue lock that guards it was released
// expect: stock
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>

// Mellor-Crummey and Scott's lock.
struct Node {
    std::atomic<Node *> next{nullptr};
    std::atomic<bool> waits{false};
};

static std::atomic<Node *> tail{nullptr};
static int stock = 100;

static void lock(Node &mine) {
    mine.next.store(nullptr, std::memory_order_relaxed);
    mine.waits.store(true, std::memory_order_relaxed);
    Node *before = tail.exchange(&mine, std::memory_order_acq_rel);
    if (!before) return;
    before->next.store(&mine, std::memory_order_release);
    while (mine.waits.load(std::memory_order_acquire)) {
    }
}

static void unlock(Node &mine) {
    Node *next = mine.next.load(std::memory_order_acquire);
    if (!next) {
        Node *expected = &mine;
        if (tail.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel)) return;
        while (!(next = mine.next.load(std::memory_order_acquire))) {
        }
    }
    next->waits.store(false, std::memory_order_release);
}

static void sell() {
    Node mine;
    lock(mine);
#ifdef FIXED
    stock--;
    unlock(mine);
#else
    int left = stock;
    unlock(mine);
    stock = left - 1;
#endif
}

int main() {
    std::thread early(sell), late([] {
        usleep(30000);
        sell();
    });
    early.join();
    late.join();
    std::printf("stock %d\n", stock);
    return 0;
}
