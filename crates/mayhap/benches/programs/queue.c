// Mixed: one thread puts blocks into a bounded queue, others take them, compress them by run lengths, and add up.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 2, SLOTS = 16, BLOCK = 512 };
static int blocks;
static unsigned char *slots[SLOTS];
static int filled, in, out, done;
static long total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;

static unsigned char *take(void) {
    unsigned char *block = NULL;
    pthread_mutex_lock(&lock);
    while (filled == 0 && !done)
        pthread_cond_wait(&not_empty, &lock);
    if (filled > 0) {
        block = slots[out];
        out = (out + 1) % SLOTS;
        filled--;
        pthread_cond_signal(&not_full);
    }
    pthread_mutex_unlock(&lock);
    return block;
}

static void *work(void *argument) {
    (void)argument;
    unsigned char *block, packed[2 * BLOCK];
    while ((block = take()) != NULL) {
        int length = 0;
        for (int i = 0; i < BLOCK;) {
            int run = 1;
            while (i + run < BLOCK && block[i + run] == block[i])
                run++;
            packed[length++] = run;
            packed[length++] = block[i];
            i += run;
        }
        unsigned sum = 0;
        for (int i = 0; i < length; i++)
            sum = sum * 31 + packed[i];
        free(block);
        pthread_mutex_lock(&lock);
        total += sum;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int count, char **arguments) {
    blocks = count > 1 ? atoi(arguments[1]) : 30000;
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    unsigned seed = 1;
    for (int n = 0; n < blocks; n++) {
        unsigned char *block = malloc(BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            seed = seed * 1664525u + 1013904223u;
            block[i] = seed >> 30;
        }
        pthread_mutex_lock(&lock);
        while (filled == SLOTS)
            pthread_cond_wait(&not_full, &lock);
        slots[in] = block;
        in = (in + 1) % SLOTS;
        filled++;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_broadcast(&not_empty);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", total);
}
