// Threads race on a few variables, write values that nobody else writes, and log what they wrote and read.
// Usage: reads LOG THREADS STEPS. The log has per thread: how many entries, then the entries of 64 bits: bit 63 for a
// write, the variable from bit 56, the value below.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { VARIABLES = 4 };

static int64_t shared[VARIABLES];
static long steps;

struct log {
    uint64_t thread, count, *entries;
};

static void *work(void *arg) {
    struct log *log = arg;
    uint64_t random = 88172645463325252u + 7919 * log->thread;
    for (long i = 0; i < steps; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t variable = random % VARIABLES, other = (random >> 8) % VARIABLES;
        int64_t *one = &shared[variable], *two = &shared[other];
        if (random >> 59 == 3) {
            // With nothing in between: a read, a write and a read that are announced together.
            uint64_t value = log->thread << 40 | (uint64_t)i;
            uint64_t before = *one;
            *one = value;
            uint64_t after = *two;
            log->entries[log->count++] = variable << 56 | before;
            log->entries[log->count++] = 1ull << 63 | variable << 56 | value;
            log->entries[log->count++] = other << 56 | after;
        } else if (random >> 60 == 2) {
            uint64_t first = *one, second = *two;
            log->entries[log->count++] = variable << 56 | first;
            log->entries[log->count++] = other << 56 | second;
        } else if (random >> 60 == 0) {
            uint64_t value = log->thread << 40 | (uint64_t)i;
            shared[variable] = value;
            log->entries[log->count++] = 1ull << 63 | variable << 56 | value;
        } else {
            uint64_t value = shared[variable];
            log->entries[log->count++] = variable << 56 | value;
        }
    }
    return arg;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    long threads = atol(argv[2]);
    steps = atol(argv[3]);
    struct log *logs = calloc(threads, sizeof *logs);
    pthread_t *handles = calloc(threads, sizeof *handles);
    for (long i = 0; i < threads; i++) {
        logs[i].thread = i + 1;
        logs[i].entries = malloc(3 * steps * sizeof *logs[i].entries);
    }
    for (long i = 0; i < threads; i++) pthread_create(&handles[i], 0, work, &logs[i]);
    for (long i = 0; i < threads; i++) pthread_join(handles[i], 0);
    FILE *file = fopen(argv[1], "wb");
    if (!file) return 1;
    for (long i = 0; i < threads; i++) {
        fwrite(&logs[i].count, sizeof logs[i].count, 1, file);
        fwrite(logs[i].entries, sizeof *logs[i].entries, logs[i].count, file);
    }
    return fclose(file) != 0;
}
