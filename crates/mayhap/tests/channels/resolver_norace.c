// A name is looked up by a thread that the C library starts; it calls back.
#define _GNU_SOURCE
#include <netdb.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

sem_t done;
int asked, answered;

static void found(union sigval value) {
    if (asked != 1 || value.sival_int != 5) abort();
    answered = 1;
    sem_post(&done);
}

int main(void) {
    sem_init(&done, 0, 0);
    struct gaicb request = {.ar_name = "127.0.0.1"}, *list[] = {&request};
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = found;
    event.sigev_value.sival_int = 5;
    asked = 1;
    if (getaddrinfo_a(GAI_NOWAIT, list, 1, &event)) return 0;
    sem_wait(&done);
    if (answered != 1) abort();
    return 0;
}
