// All ways to allocate work and are seen.
// counts: fork=2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void use(void) {
    void *p;
    if (posix_memalign(&p, 64, 100) != 0 || (unsigned long)p % 64 != 0) abort();
    free(p);
    p = aligned_alloc(128, 256);
    if ((unsigned long)p % 128 != 0) abort();
    free(p);
    int *q = calloc(10, sizeof *q);
    if (q[9] != 0) abort();
    free(q);
    free(0);
}

static void *first(void *arg) {
    use();
    return arg;
}

static void *second(void *arg) {
    use();
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
