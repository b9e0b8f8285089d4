// One thread sets a pointer up, another one uses it, and nobody waits. An attempt at a lock fails on the way.
// kind: order
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, busy = PTHREAD_MUTEX_INITIALIZER;
static int storage = 7, tries, *table;

static void *set_up(void *unused) {
    pthread_mutex_lock(&lock);
    table = &storage;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *use(void *unused) {
    usleep(20000);  // in an ordinary run it is set up by now
    while (pthread_mutex_trylock(&busy) != 0 && tries < 3)
        tries++;
    pthread_mutex_lock(&lock);
    int *found = table;
    pthread_mutex_unlock(&lock);
    printf("%d\n", *found);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_mutex_lock(&busy);
    pthread_create(&a, NULL, set_up, NULL);
    pthread_create(&b, NULL, use, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_mutex_unlock(&busy);
    return 0;
}
