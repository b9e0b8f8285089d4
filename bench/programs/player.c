// A music player: a decoder fills a ring of buffers, an output thread plays them, the user pauses, seeks and stops.
// player SEEKS BUFFERS. The ring has a lock and conditions; the position and the volume are shared without.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { RING = 4, SAMPLES = 16 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, drained = PTHREAD_COND_INITIALIZER;
static short ring[RING][SAMPLES];
static int head, tail, used, stop;
static long position, volume = 10, played, buffers, seeks;

static void *decoder(void *unused) {
    (void)unused;
    for (long n = 0; n < buffers; n++) {
        short samples[SAMPLES];
        for (int i = 0; i < SAMPLES; i++) samples[i] = (short)(n + i);
        pthread_mutex_lock(&lock);
        while (used == RING && !stop) pthread_cond_wait(&drained, &lock);
        if (stop) { pthread_mutex_unlock(&lock); break; }
        for (int i = 0; i < SAMPLES; i++) ring[head][i] = samples[i];
        head = (head + 1) % RING;
        used++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
        position = n;
    }
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *output(void *unused) {
    (void)unused;
    for (;;) {
        short samples[SAMPLES];
        pthread_mutex_lock(&lock);
        while (used == 0 && !stop) pthread_cond_wait(&filled, &lock);
        if (used == 0) { pthread_mutex_unlock(&lock); return NULL; }
        for (int i = 0; i < SAMPLES; i++) samples[i] = ring[tail][i];
        tail = (tail + 1) % RING;
        used--;
        pthread_cond_signal(&drained);
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < SAMPLES; i++) played += samples[i] * volume;
    }
}

int main(int argc, char **argv) {
    seeks = argc > 1 ? atol(argv[1]) : 3;
    buffers = argc > 2 ? atol(argv[2]) : 40;
    pthread_t a, b;
    pthread_create(&a, NULL, decoder, NULL);
    pthread_create(&b, NULL, output, NULL);
    for (long i = 0; i < seeks; i++) {
        volume = 10 + i;
        pthread_mutex_lock(&lock);
        long now = used;
        pthread_mutex_unlock(&lock);
        if (position + now < 0) return 2;
    }
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("played %s\n", played != 0 ? "something" : "nothing");
    return 0;
}
