// Waits in fgets, which blocks inside the C library.
// counts: fork=2 join=2
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int rounds = 200;
static FILE *ends[2];

static void prepare(void) {
    int pipes[2];
    if (pipe(pipes) != 0) abort();
    ends[0] = fdopen(pipes[0], "r");
    ends[1] = fdopen(pipes[1], "w");
}

static void *first(void *arg) {
    for (int i = 0; i < rounds; i++) {
        char line[32];
        if (!fgets(line, sizeof line, ends[0]) || atoi(line) != i) abort();
    }
    return arg;
}

static void *second(void *arg) {
    for (int i = 0; i < rounds; i++) {
        fprintf(ends[1], "%d\n", i);
        fflush(ends[1]);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    prepare();
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
