// proven: now
// A call writes the time for one thread while another one reads it.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static struct timespec now;

static void *clock_on(void *none) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    return none;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, NULL, clock_on, NULL);
    printf("%d\n", now.tv_sec > 1);
    pthread_join(other, NULL);
}
