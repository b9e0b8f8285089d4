// A timer's thread and the one that armed it; the second shot comes after the first was waited for.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

sem_t done;
int value;

static void ring(union sigval argument) {
    *(int *)argument.sival_ptr += 1;
    sem_post(&done);
}

int main(void) {
    sem_init(&done, 0, 0);
    struct sigevent how = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = ring, .sigev_value.sival_ptr = &value};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &how, &timer)) abort();
    for (int i = 0; i < 2; i++) {
        value += 10;
        struct itimerspec soon = {{0, 0}, {0, 1000000}};
        timer_settime(timer, 0, &soon, 0);
        sem_wait(&done);
    }
    timer_delete(timer);
    return value != 22;
}
