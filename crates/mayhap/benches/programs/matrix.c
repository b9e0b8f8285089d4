// Memory-heavy, read-shared: threads multiply the same two matrices, each the rows of its own.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2 };
static int n;
static double *a, *b, *c;

static void *work(void *argument) {
    long me = (long)argument;
    for (int i = me; i < n; i += THREADS)
        for (int k = 0; k < n; k++) {
            double factor = a[i * n + k];
            for (int j = 0; j < n; j++)
                c[i * n + j] += factor * b[k * n + j];
        }
    return NULL;
}

int main(int count, char **arguments) {
    n = count > 1 ? atoi(arguments[1]) : 300;
    a = malloc(n * n * sizeof *a);
    b = malloc(n * n * sizeof *b);
    c = calloc(n * n, sizeof *c);
    for (int i = 0; i < n * n; i++) {
        a[i] = i % 7;
        b[i] = i % 11;
    }
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    double sum = 0;
    for (int i = 0; i < n * n; i++)
        sum += c[i];
    printf("%.0f\n", sum);
}
