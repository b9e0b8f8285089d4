// bug: an allocation that fails throws past the unlock
#include <cstdlib>
#include <mutex>
#include <new>
#include <pthread.h>

static std::mutex lock;
static int *list[2];

static void put(int at) {
#ifdef FIXED
    std::lock_guard<std::mutex> held(lock);
    list[at] = new int(at);
#else
    lock.lock();
    list[at] = new int(at);
    lock.unlock();
#endif
}

static void *work(void *p) {
    try {
        put(p != nullptr);
    } catch (const std::bad_alloc &) {
    }
    return nullptr;
}

int main() {
    pthread_t a, b;
    if (pthread_create(&a, 0, work, nullptr) || pthread_create(&b, 0, work, &lock)) exit(1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    delete list[0];
    delete list[1];
    return 0;
}
