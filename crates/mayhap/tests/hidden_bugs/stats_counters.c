// kind: race
// bug: hits are counted without the lock, each just before or after a section of it
// expect: hits
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int hits;
static int lines[2];

static void *day_shift(void *unused) {
    (void)unused;
    hits++;
    pthread_mutex_lock(&lock);
    lines[0]++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *night_shift(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    lines[1]++;
    pthread_mutex_unlock(&lock);
    hits++;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, day_shift, NULL);
    pthread_create(&b, NULL, night_shift, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d hits, %d lines\n", hits, lines[0] + lines[1]);
    assert(hits == 2);
    return 0;
}
