// What the C library reads and writes for two threads is protected by a lock.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
char line[64] = "5 text";
int table[4] = {4, 2, 3, 1}, number;
char *text;
size_t room;

static int by_value(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static void *work(void *arg) {
    for (int i = 0; i < 3; i++) {
        static char input[] = "a line\n";
        FILE *file = fmemopen(input, sizeof input - 1, "r");
        pthread_mutex_lock(&m);
        puts(line);
        fputs(line, stderr);
        printf("%s %d\n", line, number);
        snprintf(line, sizeof line, "%d text", i);
        sscanf(line, "%d", &number);
        table[0] = i;
        qsort(table, 4, sizeof *table, by_value);
        if (getline(&text, &room, file) < 1) abort();
        pthread_mutex_unlock(&m);
        fclose(file);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    free(text);
    return 0;
}
