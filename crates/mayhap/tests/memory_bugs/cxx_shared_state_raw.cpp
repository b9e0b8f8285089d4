// kind: use-after-free
// effect: use after free
// bug: a raw pointer is taken out of a shared_ptr and used after the last owner has gone
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

struct State {
    int hits = 0;
};
static std::mutex lock;
static std::shared_ptr<State> state = std::make_shared<State>();

static void hit() {
#ifdef FIXED
    std::shared_ptr<State> mine;
#else
    State *mine;
#endif
    {
        std::lock_guard<std::mutex> hold(lock);
#ifdef FIXED
        mine = state;
#else
        mine = state.get();
#endif
    }
    if (mine) mine->hits++;
}

static void reset() {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::lock_guard<std::mutex> hold(lock);
    state.reset();
}

int main() {
    std::thread a(hit), b(reset);
    a.join();
    b.join();
    return 0;
}
