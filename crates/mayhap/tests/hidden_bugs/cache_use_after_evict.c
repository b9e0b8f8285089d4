// kind: atomicity
// bug: an entry is found in one critical section and used in the next, when it may have been evicted
// expect: keys
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { PLACES = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keys[PLACES] = {7, 8, 9, 0}, values[PLACES] = {70, 80, 90, 0};
static int found;

static int find(int key) {
    for (int i = 0; i < PLACES; i++)
        if (keys[i] == key) return i;
    return -1;
}

static void *client(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int at = find(7);
    pthread_mutex_unlock(&lock);
    if (at < 0) return NULL;
    pthread_mutex_lock(&lock);
    found = 1000 * keys[at] + values[at];
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *cleaner(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    keys[0] = 0;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, client, NULL);
    pthread_create(&b, NULL, cleaner, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("found %d\n", found);
    assert(found == 0 || found == 7070);
    return 0;
}
