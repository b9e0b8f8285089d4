// Two may enter at a time, and count when they have left.
#include <semaphore>
#include <thread>

int tally;
std::counting_semaphore<2> room(2);

void work() {
    room.acquire();
    room.release();
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
