// kind: heap-overflow
// explored: in every order of the threads
// bug: the last number of each part is written next to its block, which the C library's rounding of sizes hides
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *fill(void *argument) {
    int *numbers = argument;
#ifdef FIXED
    for (int i = 0; i < 5; i++) numbers[i] = i;
#else
    for (int i = 0; i <= 5; i++) numbers[i] = i;
#endif
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    int *parts[2];
    for (int i = 0; i < 2; i++) {
        parts[i] = malloc(5 * sizeof *parts[i]);
        pthread_create(&threads[i], NULL, fill, parts[i]);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%d\n", parts[0][4] + parts[1][4]);
    for (int i = 0; i < 2; i++) free(parts[i]);
    return 0;
}
