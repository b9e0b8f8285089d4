// A race that the journal's lock hides; a condition, a semaphore, a barrier and the heap are on the way there.
// kind: race
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t start;
static sem_t items;
static int is_ready, entries[2], total, *box;

static void *teller(void *unused) {
    pthread_barrier_wait(&start);
    int *made = malloc(sizeof *made);
    *made = 7;
    pthread_mutex_lock(&lock);
    box = made;
    is_ready = 1;
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&lock);
    sem_post(&items);
    total = 240;
    pthread_mutex_lock(&journal);
    entries[0] = 1;
    pthread_mutex_unlock(&journal);
    return unused;
}

static void *auditor(void *unused) {
    pthread_barrier_wait(&start);
    pthread_mutex_lock(&lock);
    while (!is_ready)
        pthread_cond_wait(&ready, &lock);
    int *found = box;
    pthread_mutex_unlock(&lock);
    sem_wait(&items);
    ++*found;
    pthread_mutex_lock(&journal);
    entries[1] = 1;
    pthread_mutex_unlock(&journal);
    printf("%d %d\n", *found, total);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_barrier_init(&start, NULL, 2);
    sem_init(&items, 0, 0);
    pthread_create(&b, NULL, auditor, NULL);
    pthread_create(&a, NULL, teller, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
