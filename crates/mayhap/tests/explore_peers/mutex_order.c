// N threads count under a lock.
#include "peers.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void *add(void *p) {
    pthread_mutex_lock(&lock);
    ++x;
    pthread_mutex_unlock(&lock);
    return p;
}
int main(void) {
    for (long i = 0; i < N; i++) start(add, i);
    join_all();
}
