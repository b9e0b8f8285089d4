// The race on `note` is in code that only the other order of the race on `open_now` leads to.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int open_now, note, guarded;

static void *keeper(void *argument) {
    open_now = 1;
    pthread_mutex_lock(&lock);
    guarded = 1;
    pthread_mutex_unlock(&lock);
    note = 2;
    return argument;
}

static void *visitor(void *argument) {
    usleep(200000);
    pthread_mutex_lock(&lock);
    guarded = 2;
    pthread_mutex_unlock(&lock);
    if (!open_now)
        note = 1;
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, keeper, 0);
    pthread_create(&threads[1], 0, visitor, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    printf("%d %d\n", note, guarded);
    return 0;
}
