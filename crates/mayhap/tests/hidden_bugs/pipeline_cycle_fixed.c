// twin: pipeline_cycle.c
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { STAGES = 4 };
static pthread_mutex_t buffers[STAGES] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                          PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int taken[STAGES], given[STAGES];

static void *stage(void *argument) {
    int me = *(int *)argument, next = (me + 1) % STAGES;
    usleep(me * 20000);  // an item arrives when the stage before is done
    pthread_mutex_lock(&buffers[me]);
    taken[me]++;
    pthread_mutex_unlock(&buffers[me]);
    pthread_mutex_lock(&buffers[next]);
    given[next]++;
    pthread_mutex_unlock(&buffers[next]);
    return NULL;
}

int main(void) {
    pthread_t threads[STAGES];
    int names[STAGES], moved = 0;
    for (int i = 0; i < STAGES; i++) {
        names[i] = i;
        pthread_create(&threads[i], NULL, stage, &names[i]);
    }
    for (int i = 0; i < STAGES; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < STAGES; i++) moved += taken[i] + given[i];
    printf("%d moves\n", moved);
    return 0;
}
