// A parallel compressor: blocks of input are run-length coded by workers and written in order.
// compressor THREADS BLOCKS. Every hand-over is locked; only the count of saved bytes is not.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 128 };
struct block { unsigned char in[SIZE], out[2 * SIZE]; int length, ready; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static struct block *block;
static long blocks, next, saved;

static int code(const unsigned char *in, unsigned char *out) {
    int length = 0;
    for (int i = 0; i < SIZE;) {
        int run = 1;
        while (i + run < SIZE && run < 255 && in[i + run] == in[i]) run++;
        out[length++] = (unsigned char)run;
        out[length++] = in[i];
        i += run;
    }
    return length;
}

static void *worker(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        long mine = next < blocks ? next++ : -1;
        pthread_mutex_unlock(&lock);
        if (mine < 0) return NULL;
        int length = code(block[mine].in, block[mine].out);
        saved += SIZE - length;
        pthread_mutex_lock(&lock);
        block[mine].length = length;
        block[mine].ready = 1;
        pthread_cond_broadcast(&ready);
        pthread_mutex_unlock(&lock);
    }
}

int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 4;
    blocks = argc > 2 ? atol(argv[2]) : 24;
    pthread_t id[64];
    block = calloc(blocks, sizeof *block);
    for (long b = 0; b < blocks; b++)
        for (int i = 0; i < SIZE; i++) block[b].in[i] = (unsigned char)(i / (b % 7 + 2));
    for (long i = 0; i < threads; i++) pthread_create(&id[i], NULL, worker, NULL);
    long total = 0;
    for (long b = 0; b < blocks; b++) {
        pthread_mutex_lock(&lock);
        while (!block[b].ready) pthread_cond_wait(&ready, &lock);
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < block[b].length; i += 2) total += block[b].out[i];
    }
    for (long i = 0; i < threads; i++) pthread_join(id[i], NULL);
    printf("coded %ld of %ld\n", total, blocks * SIZE);
    free(block);
    return total != blocks * SIZE;
}
