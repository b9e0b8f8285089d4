// A reader-writer cache: two threads read entries of a table under a shared lock and replace some under the exclusive one.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ENTRIES = 256, WORDS = 8 };
static struct entry { unsigned key, version; long words[WORDS]; } table[ENTRIES];
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int rounds;

static void *work(void *argument) {
    unsigned seed = (unsigned)(long)argument;
    long sum = 0;
    for (int i = 0; i < rounds; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned key = seed >> 20;
        struct entry *entry = &table[key % ENTRIES];
        pthread_rwlock_rdlock(&lock);
        int found = entry->key == key;
        if (found)
            for (int j = 0; j < WORDS; j++)
                sum += entry->words[j];
        pthread_rwlock_unlock(&lock);
        if (!found) {
            pthread_rwlock_wrlock(&lock);
            entry->key = key, entry->version++;
            for (int j = 0; j < WORDS; j++)
                entry->words[j] = key * j;
            pthread_rwlock_unlock(&lock);
        }
    }
    return (void *)sum;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 100000;
    pthread_t threads[2];
    long sum = 0;
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 2; i++) {
        void *part;
        pthread_join(threads[i], &part);
        sum += (long)part;
    }
    printf("%ld\n", sum);
}
