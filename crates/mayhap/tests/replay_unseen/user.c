// Two threads share a number under the lock of a library that is built without hooks: no race, but nothing shows that.
#include <pthread.h>

void plain_lock(void);
void plain_unlock(void);

int shared;

static void *work(void *unused) {
    plain_lock();
    shared++;
    plain_unlock();
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return shared == 2 ? 0 : 1;
}
