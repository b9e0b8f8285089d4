// Threads say in an array on the stack of main that their parts are ready. Main takes a part only after it has read so.
// compiler: clang
#include <cstdio>
#include <mutex>
#include <thread>
#include <unistd.h>

static int parts[3];

int main() {
    struct {
        std::mutex lock;
        bool ready[3] = {};
        double weight[3] = {};
    } state;
    std::thread threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = std::thread([&state, i] {
            parts[i] = i + 1;
            std::lock_guard<std::mutex> guard(state.lock);
            state.weight[i] = i * 0.5;
            state.ready[i] = true;
        });
    usleep(3000);
    int sum = 0;
    double weight = 0;
    for (int left = 3, turn = 0; left > 0; turn = (turn + 1) % 3) {
        bool ready;
        {
            std::lock_guard<std::mutex> guard(state.lock);
            ready = state.ready[turn];
            if (ready) {
                state.ready[turn] = false;
                weight += state.weight[turn];
            }
        }
        if (ready) {
            sum += parts[turn];
            left--;
        }
    }
    for (auto &thread : threads) thread.join();
    std::printf("%d %g\n", sum, weight);
}
