// A thread that looks at a semaphore's count learns what others have done before they raised it.
// doubt: not modelled
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

int value, copy;
sem_t raised;

static void *work(void *arg) {
    value = 1;
    sem_post(&raised);
    return arg;
}

static void *look(void *arg) {
    int count = 0;
    while (sem_getvalue(&raised, &count) == 0 && count == 0) sched_yield();
    copy = value;
    return arg;
}

int main(void) {
    sem_init(&raised, 0, 0);
    pthread_t one, two;
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, look, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return copy != 1;
}
