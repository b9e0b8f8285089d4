// Two detached threads race after main has called `exit`.
// proven: shared
#include <chrono>
#include <cstdlib>
#include <thread>

int shared;

int main() {
    for (int i = 0; i < 2; i++)
        std::thread([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            shared++;
        }).detach();
    std::exit(0);
}
