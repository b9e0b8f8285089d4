// Two functions, one after the other, lend a local at the same place to a thread each. The first thread says by a flag under a lock that it
// is done, so no reordering in which the program still does what it did brings the two together.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int done;

static void *fill(void *place) {
    *(int *)place = 7;
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    return 0;
}

__attribute__((noinline)) static int lend(int turn, pthread_t *thread) {
    int local = 0;
    pthread_create(thread, 0, fill, &local);
    for (int seen = 0; seen < turn;) {
        pthread_mutex_lock(&lock);
        seen = done;
        pthread_mutex_unlock(&lock);
        usleep(200);
    }
    return local;
}

int main(void) {
    pthread_t first, second;
    int sum = lend(1, &first) + lend(2, &second);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return sum == 14 ? 0 : 1;
}
