// The semaphore hands the value over, but the count of values is raised after the release.
// standard: c++20
// proven: sent
#include <semaphore>
#include <thread>
#include <cstdlib>

std::counting_semaphore<4> filled(0);
int value, sent;

int main() {
    std::thread producer([] {
        value = 7;
        filled.release();
        sent = sent + 1;
    });
    filled.acquire();
    if (value != 7) std::abort();
    if (sent > 1) std::abort();
    producer.join();
}
