// A parallel download: workers fetch parts of a file and write them in place; the main thread shows the progress.
// download THREADS PARTS. `fetched` has a lock, `rate` and `done` do not.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART = 64 };
static pthread_mutex_t progress = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *file;
static long parts, threads, fetched, rate;
static volatile long done;

static void fetch(long part, unsigned char *into) {
    for (int i = 0; i < PART; i++) into[i] = (unsigned char)(part * 31 + i);
}

static void *worker(void *argument) {
    unsigned char buffer[PART];
    for (long part = (long)argument; part < parts; part += threads) {
        fetch(part, buffer);
        memcpy(file + part * PART, buffer, PART);
        pthread_mutex_lock(&progress);
        fetched += PART;
        pthread_mutex_unlock(&progress);
        rate = fetched / (part + 1);
    }
    done++;
    return NULL;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atol(argv[1]) : 4;
    parts = argc > 2 ? atol(argv[2]) : 64;
    pthread_t id[64];
    file = calloc(parts, PART);
    for (long i = 0; i < threads; i++) pthread_create(&id[i], NULL, worker, (void *)i);
    for (int i = 0; i < 20 && done < threads; i++) {
        pthread_mutex_lock(&progress);
        long now = fetched;
        pthread_mutex_unlock(&progress);
        if (now > parts * PART) return 2;
        usleep(200);
    }
    for (long i = 0; i < threads; i++) pthread_join(id[i], NULL);
    long wrong = 0;
    for (long i = 0; i < parts * PART; i++) wrong += file[i] != (unsigned char)(i / PART * 31 + i % PART);
    printf("fetched %ld wrong %ld\n", fetched, wrong);
    free(file);
    return wrong != 0;
}
