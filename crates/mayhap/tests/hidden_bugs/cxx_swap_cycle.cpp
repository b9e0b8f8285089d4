// kind: deadlock
// bug: three threads swap neighbouring boxes in a ring, each locking its own first
// expect: boxes
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

struct Box {
    std::mutex lock;
    int swaps = 0;
};
static Box boxes[3];
static int done[3];

static void swap_with_next(int me) {
    Box *mine = &boxes[me], *other = &boxes[(me + 1) % 3];
    std::lock_guard<std::mutex> first(mine->lock);
    std::lock_guard<std::mutex> second(other->lock);
    done[me]++;
}

int main() {
    std::vector<std::thread> threads;
    for (int me = 0; me < 3; me++) {
        threads.emplace_back([me] {
            std::this_thread::sleep_for(std::chrono::milliseconds(25 * me));
            swap_with_next(me);
        });
    }
    for (auto &thread : threads) thread.join();
    std::printf("%d swaps\n", done[0] + done[1] + done[2]);
    return 0;
}
