// kind: use-after-free
// effect: use after free
// bug: a lock is destroyed and initialised again while a thread may still read under it
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_rwlock_t lock;
static long result;

static void *user(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&lock);
    result++;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_rwlock_init(&lock, NULL);
    pthread_create(&thread, NULL, user, NULL);
    usleep(50000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    pthread_rwlock_destroy(&lock);
    pthread_rwlock_init(&lock, NULL);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", result >= -1);
    return 0;
}
