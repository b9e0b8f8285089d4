// The C library's own once, used by several threads and again by the first.
#include <pthread.h>
#include <thread>

int tally, table[4];
pthread_once_t once = PTHREAD_ONCE_INIT;

void fill() {
    for (int &entry : table) entry = 3;
}

void work() {
    pthread_once(&once, fill);
    pthread_once(&once, fill);
    tally += table[1];
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
