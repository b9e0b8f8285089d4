// kind: race
// bug: a timer is cancelled without the wheel's lock while a tick may be firing it
// expect: retry
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { SLOTS = 4 };
struct timer {
    int slot, cancelled, fired;
};
static pthread_mutex_t wheel = PTHREAD_MUTEX_INITIALIZER;
static struct timer retry = {.slot = 2};
static int ticks, cancels;

static void tick(void) {
    pthread_mutex_lock(&wheel);
    ticks++;
    if (ticks % SLOTS == retry.slot && !retry.cancelled) retry.fired = 1;
    pthread_mutex_unlock(&wheel);
}

static void *clock_thread(void *unused) {
    (void)unused;
    for (int i = 0; i < SLOTS; i++) tick();
    return NULL;
}

static void *client(void *unused) {
    (void)unused;
    usleep(30000);  // the answer comes late, the timer has fired
    pthread_mutex_lock(&wheel);
    cancels = 1;
    pthread_mutex_unlock(&wheel);
    retry.cancelled = 1;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, clock_thread, NULL);
    pthread_create(&b, NULL, client, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d ticks, %d cancels\n", ticks, cancels);
    return 0;
}
