// kind: deadlock
// bug: each of three philosophers takes the left fork first
// expect: forks
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { SEATS = 3 };
static pthread_mutex_t forks[SEATS];
static int meals[SEATS];

static void *philosopher(void *argument) {
    int seat = *(int *)argument;
    int first = seat, second = (seat + 1) % SEATS;
    usleep(seat * 20000);  // they come in one after the other
    pthread_mutex_lock(&forks[first]);
    pthread_mutex_lock(&forks[second]);
    meals[seat]++;
    pthread_mutex_unlock(&forks[second]);
    pthread_mutex_unlock(&forks[first]);
    return NULL;
}

int main(void) {
    pthread_t threads[SEATS];
    int seats[SEATS], eaten = 0;
    for (int i = 0; i < SEATS; i++) pthread_mutex_init(&forks[i], NULL);
    for (int i = 0; i < SEATS; i++) {
        seats[i] = i;
        pthread_create(&threads[i], NULL, philosopher, &seats[i]);
    }
    for (int i = 0; i < SEATS; i++) {
        pthread_join(threads[i], NULL);
        eaten += meals[i];
    }
    printf("%d meals\n", eaten);
    return 0;
}
