// kind: hang deadlock
// bug: the early return, taken when the other thread was first, keeps the lock
// expect: slot
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t slot = PTHREAD_MUTEX_INITIALIZER;
static int taken;

static int take(void) {
    pthread_mutex_lock(&slot);
    if (taken)
        return 0;
    taken = 1;
    pthread_mutex_unlock(&slot);
    return 1;
}

static void *careful(void *p) {
    usleep(10000);
    pthread_mutex_lock(&slot);
    int found = taken;
    taken = 2;
    pthread_mutex_unlock(&slot);
    pthread_mutex_lock(&slot);
    pthread_mutex_unlock(&slot);
    return found ? p : 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, careful, 0);
    take();
    pthread_mutex_lock(&slot);
    pthread_mutex_unlock(&slot);
    pthread_join(t, 0);
    return 0;
}
