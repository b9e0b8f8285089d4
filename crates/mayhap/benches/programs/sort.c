// Memory-heavy, private: each thread sorts arrays of its own, again and again.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, ELEMENTS = 20000 };
static int rounds;
static unsigned long sums[THREADS];

static void sort(unsigned *data, unsigned *spare, int n) {
    for (int width = 1; width < n; width *= 2) {
        for (int start = 0; start < n; start += 2 * width) {
            int middle = start + width < n ? start + width : n, end = start + 2 * width < n ? start + 2 * width : n;
            int left = start, right = middle;
            for (int at = start; at < end; at++)
                spare[at] = left < middle && (right >= end || data[left] <= data[right]) ? data[left++] : data[right++];
        }
        unsigned *swap = data;
        data = spare;
        spare = swap;
    }
}

static void *work(void *argument) {
    long me = (long)argument;
    unsigned *data = malloc(ELEMENTS * sizeof *data), *spare = malloc(ELEMENTS * sizeof *spare), seed = me + 1;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < ELEMENTS; i++)
            data[i] = seed = seed * 1664525u + 1013904223u;
        sort(data, spare, ELEMENTS);
        sums[me] += data[ELEMENTS / 2] + spare[ELEMENTS / 2];
    }
    free(data);
    free(spare);
    return NULL;
}

int main(int count, char **arguments) {
    rounds = count > 1 ? atoi(arguments[1]) : 40;
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%lu %lu\n", sums[0], sums[1]);
}
