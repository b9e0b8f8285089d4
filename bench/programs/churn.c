// A server's life of blocks: threads allocate requests of many sizes, fill them, hand some to the next thread and free them.
// churn THREADS ROUNDS. Every hand-over is locked; only the count of requests is not.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };
struct request { size_t bytes; unsigned char body[]; };
static struct { pthread_mutex_t lock; struct request *held; } seat[MOST];
static long threads, rounds, requests;

static struct request *make(unsigned *seed) {
    *seed = *seed * 1103515245u + 12345u;
    size_t bytes = 16 + *seed / 65536 % 2000;
    struct request *request = malloc(sizeof *request + bytes);
    request->bytes = bytes;
    memset(request->body, (int)bytes, bytes);
    return request;
}

static void *serve(void *argument) {
    long self = (long)argument;
    unsigned seed = (unsigned)self + 1;
    for (long i = 0; i < rounds; i++) {
        struct request *mine = make(&seed);
        for (size_t byte = 1; byte < mine->bytes; byte += 64) mine->body[byte] ^= mine->body[byte - 1];
        long next = (self + 1) % threads;
        pthread_mutex_lock(&seat[next].lock);
        struct request *old = seat[next].held;
        seat[next].held = mine;
        pthread_mutex_unlock(&seat[next].lock);
        free(old);
        requests++;
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t all[MOST];
    threads = argc > 1 ? atol(argv[1]) : 4;
    rounds = argc > 2 ? atol(argv[2]) : 500;
    if (threads < 1 || threads > MOST) return 2;
    for (long i = 0; i < threads; i++) pthread_mutex_init(&seat[i].lock, NULL);
    for (long i = 0; i < threads; i++) pthread_create(&all[i], NULL, serve, (void *)i);
    for (long i = 0; i < threads; i++) pthread_join(all[i], NULL);
    for (long i = 0; i < threads; i++) free(seat[i].held);
    printf("%d\n", requests > 0);
    return 0;
}
