// Large private buffers: each thread takes jobs from a counter under a lock and compresses them with tables of its own.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, WINDOW = 1 << 15, HASHES = 1 << 12 };
static int jobs, next_job;
static long total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned hash(const unsigned char *at) { return (at[0] * 2654435761u ^ at[1] * 40503u ^ at[2] * 9973u) >> 7 & (HASHES - 1); }

static long compress(const unsigned char *in, unsigned char *out, int *heads) {
    long written = 0;
    memset(heads, -1, HASHES * sizeof *heads);
    for (int i = 0; i < WINDOW - 3;) {
        unsigned h = hash(in + i);
        int from = heads[h], length = 0;
        heads[h] = i;
        if (from >= 0)
            while (i + length < WINDOW && length < 255 && in[from + length] == in[i + length])
                length++;
        if (length >= 4) {
            out[written++] = 255;
            out[written++] = length;
            out[written++] = (i - from) & 255;
            i += length;
        } else {
            out[written++] = in[i++];
        }
    }
    return written;
}

static void *work(void *argument) {
    (void)argument;
    unsigned char *in = malloc(WINDOW), *out = malloc(2 * WINDOW);
    int *heads = malloc(HASHES * sizeof *heads);
    for (;;) {
        pthread_mutex_lock(&lock);
        int job = next_job < jobs ? next_job++ : -1;
        pthread_mutex_unlock(&lock);
        if (job < 0)
            break;
        unsigned seed = job * 7919 + 1;
        for (int i = 0; i < WINDOW; i++) {
            seed = seed * 1664525 + 1013904223;
            in[i] = seed >> 28 ? "abcdefgh"[seed >> 29] : seed >> 20;
        }
        long size = compress(in, out, heads);
        pthread_mutex_lock(&lock);
        total += size;
        pthread_mutex_unlock(&lock);
    }
    free(in), free(out), free(heads);
    return NULL;
}

int main(int argc, char **argv) {
    jobs = argc > 1 ? atoi(argv[1]) : 40;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", total);
}
