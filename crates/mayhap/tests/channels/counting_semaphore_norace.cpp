// A counting semaphore of the C++ library hands tickets over, a binary one protects a total.
// standard: c++20
// hangs: libstdc++ 12 reads the value that it sleeps on before it tries again, and misses a release that brings that value back
#include <semaphore>
#include <thread>
#include <cstdlib>

std::counting_semaphore<4> filled(0), empty(4);
std::binary_semaphore gate(1);
int ring[4], total;

int main() {
    std::thread producer([] {
        for (int i = 0; i < 12; i++) {
            empty.acquire();
            ring[i % 4] = i;
            filled.release();
        }
        gate.acquire();
        total++;
        gate.release();
    });
    int sum = 0;
    for (int i = 0; i < 12; i++) {
        filled.acquire();
        sum += ring[i % 4];
        empty.release();
    }
    gate.acquire();
    total++;
    gate.release();
    producer.join();
    if (sum != 66 || total != 2) std::abort();
}
