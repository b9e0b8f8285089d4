// clean: the C library gives the stacks of ended threads back, and the program's own memory comes to lie there
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { THREADS = 8, BYTES = 8 << 20 };
static pthread_barrier_t all;
static char *blocks[THREADS];

static void *stand(void *unused) {
    (void)unused;
    pthread_barrier_wait(&all);
    return NULL;
}

static void *fill(void *block) {
    memset(block, 7, 4096);
    ((char *)block)[BYTES - 1] = 7;
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    int sum = 0;
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, stand, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        blocks[i] = i % 2 ? malloc(BYTES)
                          : mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, fill, blocks[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) sum += blocks[i][0] + blocks[i][BYTES / 2];
    printf("%d\n", sum);
    return 0;
}
