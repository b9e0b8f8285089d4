// Elevators: lifts serve calls on floors, each floor with its own lock; a display reads where the lifts are.
// elevator LIFTS CALLS. `count`, the number of people carried, is shared without a lock.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLOORS = 10, LIFTS = 16 };
static struct { pthread_mutex_t lock; int waiting, going[FLOORS]; } at[FLOORS];
static pthread_mutex_t place = PTHREAD_MUTEX_INITIALIZER;
static int floor_of[LIFTS];
static long calls, count, left;

static int take(int floor, int *to) {
    int taken = 0;
    pthread_mutex_lock(&at[floor].lock);
    if (at[floor].waiting > 0) {
        at[floor].waiting--;
        for (int i = 0; i < FLOORS && !taken; i++)
            if (at[floor].going[i] > 0) { at[floor].going[i]--; *to = i; taken = 1; }
    }
    pthread_mutex_unlock(&at[floor].lock);
    return taken;
}

static void *lift(void *argument) {
    long self = (long)argument;
    for (int round = 0; round < 400; round++) {
        int floor = (int)((self + round) % FLOORS), to = 0;
        if (take(floor, &to)) {
            count++;
            pthread_mutex_lock(&place);
            floor_of[self] = to;
            left--;
            pthread_mutex_unlock(&place);
        }
        pthread_mutex_lock(&place);
        int over = left == 0;
        pthread_mutex_unlock(&place);
        if (over) break;
    }
    return NULL;
}

int main(int argc, char **argv) {
    long lifts = argc > 1 ? atol(argv[1]) : 3;
    calls = argc > 2 ? atol(argv[2]) : 40;
    pthread_t id[LIFTS];
    for (int i = 0; i < FLOORS; i++) pthread_mutex_init(&at[i].lock, NULL);
    for (long i = 0; i < calls; i++) {
        int from = (int)(i * 7 % FLOORS);
        at[from].waiting++;
        at[from].going[(i * 3 + 1) % FLOORS]++;
    }
    left = calls;
    for (long i = 0; i < lifts; i++) pthread_create(&id[i], NULL, lift, (void *)i);
    long shown = count;
    for (long i = 0; i < lifts; i++) pthread_join(id[i], NULL);
    printf("carried %s of %ld\n", count > 0 && shown >= 0 ? "some" : "none", calls);
    return 0;
}
