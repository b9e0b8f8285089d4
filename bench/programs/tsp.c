// Travelling salesman by branch and bound: workers take partial tours from a stack; the best length is written under a
// lock but read without one, as the well-known benchmark does it.
// tsp THREADS CITIES
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CITIES = 12, STACK = 4096 };
struct tour { int length, cities; unsigned char city[CITIES]; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, best_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tour stack[STACK];
static int top, busy, cities, distance[CITIES][CITIES];
static int best = 1 << 30;

static void solve(struct tour *tour, unsigned used) {
    if (tour->length >= best) return;
    if (tour->cities == cities) {
        int whole = tour->length + distance[tour->city[cities - 1]][0];
        pthread_mutex_lock(&best_lock);
        if (whole < best) best = whole;
        pthread_mutex_unlock(&best_lock);
        return;
    }
    int last = tour->city[tour->cities - 1];
    for (int next = 1; next < cities; next++) {
        if (used & 1u << next) continue;
        tour->city[tour->cities++] = (unsigned char)next;
        tour->length += distance[last][next];
        solve(tour, used | 1u << next);
        tour->length -= distance[last][next];
        tour->cities--;
    }
}

static void *worker(void *unused) {
    (void)unused;
    for (;;) {
        struct tour tour;
        pthread_mutex_lock(&lock);
        int any = top > 0;
        if (any) { tour = stack[--top]; busy++; }
        pthread_mutex_unlock(&lock);
        if (!any) return NULL;
        unsigned used = 0;
        for (int i = 0; i < tour.cities; i++) used |= 1u << tour.city[i];
        solve(&tour, used);
        pthread_mutex_lock(&lock);
        busy--;
        pthread_mutex_unlock(&lock);
    }
}

int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 3;
    cities = argc > 2 ? atoi(argv[2]) : 7;
    pthread_t id[64];
    for (int i = 0; i < cities; i++)
        for (int j = 0; j < cities; j++) distance[i][j] = i == j ? 0 : (i * 17 + j * 17 + i * j * 5) % 23 + 3;
    for (int i = 1; i < cities; i++)
        for (int j = 1; j < cities; j++)
            if (i != j) stack[top++] = (struct tour){ distance[0][i] + distance[i][j], 3, { 0, (unsigned char)i, (unsigned char)j } };
    for (long i = 0; i < threads; i++) pthread_create(&id[i], NULL, worker, NULL);
    for (long i = 0; i < threads; i++) pthread_join(id[i], NULL);
    printf("best %d\n", best);
    return 0;
}
