// A latch lets all threads see what each has prepared; a barrier does so in rounds, with a step of its own in between.
// standard: c++20
#include <barrier>
#include <latch>
#include <thread>
#include <vector>
#include <cstdlib>

constexpr int N = 3;
int parts[N], rounds[N], phase;

int main() {
    std::latch ready(N);
    std::barrier step(N, []() noexcept { phase++; });
    std::vector<std::thread> all;
    for (int i = 0; i < N; i++)
        all.emplace_back([&, i] {
            parts[i] = i + 1;
            ready.arrive_and_wait();
            if (parts[0] + parts[1] + parts[2] != 6) std::abort();
            for (int r = 0; r < 2; r++) {
                rounds[i] = r;
                step.arrive_and_wait();
                if (rounds[(i + 1) % N] != r || phase < r + 1) std::abort();
                step.arrive_and_wait();
            }
        });
    for (auto &t : all) t.join();
    if (phase != 4) std::abort();
}
