// bug: the function that is called when there is no memory takes a lock that an allocating thread may hold
#include <cstdlib>
#include <mutex>
#include <new>
#include <pthread.h>

static std::mutex lock;
static int reserve = 1, *kept[2];

static void out_of_memory() {
#ifndef FIXED
    std::lock_guard<std::mutex> held(lock);
#endif
    if (!reserve) throw std::bad_alloc();
    reserve = 0;
}

static void *work(void *p) {
    std::lock_guard<std::mutex> held(lock);
    try {
        kept[p != nullptr] = new int(1);
    } catch (const std::bad_alloc &) {
    }
    return nullptr;
}

int main() {
    pthread_t a, b;
    std::set_new_handler(out_of_memory);
    if (pthread_create(&a, 0, work, nullptr) || pthread_create(&b, 0, work, &lock)) exit(1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    delete kept[0];
    delete kept[1];
    return 0;
}
