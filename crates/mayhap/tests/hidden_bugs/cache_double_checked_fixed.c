// twin: cache_double_checked.c
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static int squares[16];
static int warm_lookups, cold_lookups;

static void fill(void) {
    for (int i = 0; i < 16; i++) squares[i] = i * i;
}

static int square(int n) {
    pthread_mutex_lock(&guard);
    if (!ready) {
        fill();
        ready = 1;
    }
    pthread_mutex_unlock(&guard);
    return squares[n];
}

static void *warmer(void *unused) {
    (void)unused;
    assert(square(3) == 9);
    pthread_mutex_lock(&guard);
    warm_lookups = 1;
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *client(void *unused) {
    (void)unused;
    usleep(30000);  // clients are served when the cache is warm
    pthread_mutex_lock(&guard);
    cold_lookups = 1;
    pthread_mutex_unlock(&guard);
    assert(square(5) == 25);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, warmer, NULL);
    pthread_create(&b, NULL, client, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d lookups\n", warm_lookups + cold_lookups);
    return 0;
}
