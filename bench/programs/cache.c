// A cache server: clients look up keys and store them, each bucket has a lock, and one thread evicts what was not used.
// cache CLIENTS REQUESTS. Everything is locked.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 4, PLACES = 3 };
struct entry { int key, value, used; };
struct bucket { pthread_mutex_t lock; struct entry entries[PLACES]; };
static struct bucket buckets[BUCKETS];
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static long requests, hits, misses, evicted, clients_left;

static int look_up(int key) {
    struct bucket *b = &buckets[key % BUCKETS];
    int found = 0;
    pthread_mutex_lock(&b->lock);
    for (int i = 0; i < PLACES; i++)
        if (b->entries[i].key == key) {
            b->entries[i].used = 1;
            found = b->entries[i].value;
        }
    pthread_mutex_unlock(&b->lock);
    return found;
}

static void store(int key, int value) {
    struct bucket *b = &buckets[key % BUCKETS];
    pthread_mutex_lock(&b->lock);
    struct entry *place = &b->entries[key / BUCKETS % PLACES];
    for (int i = 0; i < PLACES; i++)
        if (b->entries[i].key == 0) place = &b->entries[i];
    *place = (struct entry){key, value, 1};
    pthread_mutex_unlock(&b->lock);
}

static void *client(void *p) {
    for (long i = 0; i < requests; i++) {
        int key = 1 + (int)(((long)p * 5 + i * 3) % 13), value = look_up(key);
        if (!value) store(key, key * 7);
        else if (value != key * 7) abort();
        pthread_mutex_lock(&count_lock);
        if (value) hits++;
        else misses++;
        pthread_mutex_unlock(&count_lock);
    }
    pthread_mutex_lock(&count_lock);
    clients_left--;
    pthread_mutex_unlock(&count_lock);
    return 0;
}

static void *evict(void *p) {
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < BUCKETS; i++) {
            pthread_mutex_lock(&buckets[i].lock);
            for (int j = 0; j < PLACES; j++) {
                if (!buckets[i].entries[j].used && buckets[i].entries[j].key) {
                    buckets[i].entries[j].key = 0;
                    evicted++;
                }
                buckets[i].entries[j].used = 0;
            }
            pthread_mutex_unlock(&buckets[i].lock);
        }
    return p;
}

int main(int count, char **words) {
    int clients = count > 1 ? atoi(words[1]) : 4;
    requests = count > 2 ? atol(words[2]) : 8;
    clients_left = clients;
    pthread_t threads[17];
    for (int i = 0; i < BUCKETS; i++) pthread_mutex_init(&buckets[i].lock, 0);
    for (long i = 0; i < clients && i < 16; i++) pthread_create(&threads[i], 0, client, (void *)i);
    pthread_create(&threads[16], 0, evict, 0);
    for (int i = 0; i < clients && i < 16; i++) pthread_join(threads[i], 0);
    pthread_join(threads[16], 0);
    if (hits + misses != clients * requests || clients_left) abort();
    printf("%d requests\n", (int)(hits + misses));
}
