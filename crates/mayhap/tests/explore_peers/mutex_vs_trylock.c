// N threads count if they get a lock at once; main waits for it.
#include "peers.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void *add(void *p) {
    if (pthread_mutex_trylock(&lock)) return p;
    ++x;
    pthread_mutex_unlock(&lock);
    return p;
}
int main(void) {
    for (long i = 0; i < N; i++) start(add, i);
    pthread_mutex_lock(&lock);
    ++x;
    pthread_mutex_unlock(&lock);
    join_all();
}
