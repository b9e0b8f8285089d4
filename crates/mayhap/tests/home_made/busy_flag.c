// kind: race
// bug: the flag is tested and set by two operations: two threads may enter
// expect: report
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int busy;
static int report;

static int enter(void) {
#ifdef FIXED
    int idle = 0;
    return atomic_compare_exchange_strong(&busy, &idle, 1);
#else
    if (atomic_load(&busy)) return 0;
    atomic_store(&busy, 1);
    return 1;
#endif
}

static void *work(void *delay) {
    usleep(*(int *)delay);
    if (enter()) {
        report++;
        atomic_store(&busy, 0);
    }
    return NULL;
}

int main(void) {
    int delays[2] = {0, 30000};
    pthread_t workers[2];
    for (int i = 0; i < 2; i++) pthread_create(&workers[i], NULL, work, &delays[i]);
    for (int i = 0; i < 2; i++) pthread_join(workers[i], NULL);
    printf("%d reports\n", report);
    return 0;
}
