// Two threads read lines into the same buffer.
// proven: main
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *line;
size_t room;
FILE *files[2];

static void *reads(void *arg) {
    FILE *file = files[*(int *)arg];
    if (getline(&line, &room, file) < 1) abort();
    return 0;
}

int main(void) {
    static char one[] = "first line\n", two[] = "second line\n";
    files[0] = fmemopen(one, sizeof one - 1, "r");
    files[1] = fmemopen(two, sizeof two - 1, "r");
    line = malloc(64);
    room = 64;
    pthread_t a, b;
    int zero = 0, first = 1;
    pthread_create(&a, 0, reads, &zero);
    pthread_create(&b, 0, reads, &first);
    pthread_join(a, 0);
    pthread_join(b, 0);
    free(line);
    return 0;
}
