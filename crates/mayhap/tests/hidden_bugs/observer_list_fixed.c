// twin: observer_list.c
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct observer {
    int seen;
    struct observer *next;
};
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static struct observer *observers;
static int events, leavers;

static void notify(void) {
    pthread_mutex_lock(&list);
    struct observer *first = observers;
    if (first) first->seen++;
    events++;
    pthread_mutex_unlock(&list);
}

static void *publisher(void *unused) {
    (void)unused;
    notify();
    notify();
    return NULL;
}

static void *leaver(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&list);
    struct observer *mine = observers;
    observers = mine->next;
    leavers++;
    pthread_mutex_unlock(&list);
    free(mine);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    observers = calloc(1, sizeof *observers);
    pthread_create(&a, NULL, publisher, NULL);
    pthread_create(&b, NULL, leaver, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d events, %d left\n", events, leavers);
    return 0;
}
