// kind: race use-after-free double-free atomicity
// bug: an observer takes a share of an object after it has looked whether the object has owners, in two steps
// expect: heap Object payload object owners
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>

struct Object {
    int payload = 5;
};

struct Control {
    std::atomic<int> owners{1};
    Object *object = new Object;
};

static Control control;

static void drop() {
    if (control.owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete control.object;
}

static bool upgrade() {
#ifdef FIXED
    int owners = control.owners.load(std::memory_order_relaxed);
    while (owners != 0) {
        if (control.owners.compare_exchange_weak(owners, owners + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
#else
    if (control.owners.load(std::memory_order_acquire) == 0) return false;
    control.owners.fetch_add(1, std::memory_order_acq_rel);
    return true;
#endif
}

static void observe() {
    if (upgrade()) {
        std::printf("payload %d\n", control.object->payload);
        drop();
    }
}

int main() {
    std::thread observer(observe);
    usleep(30000);
    drop();
    observer.join();
    return 0;
}
