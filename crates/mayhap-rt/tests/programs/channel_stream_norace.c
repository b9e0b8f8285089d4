// Lines through streams over a pipe.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

FILE *from, *to;
int value;

static void *first(void *arg) {
    char line[16];
    if (!fgets(line, sizeof line, from) || value != 7) abort();
    return arg;
}

static void *second(void *arg) {
    value = 7;
    fputs("hello\n", to);
    fflush(to);
    return arg;
}

int main(void) {
    int ends[2];
    if (pipe(ends)) abort();
    from = fdopen(ends[0], "r");
    to = fdopen(ends[1], "w");
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
