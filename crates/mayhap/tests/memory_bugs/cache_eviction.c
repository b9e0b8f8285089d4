// kind: use-after-free
// effect: use after free
// bug: an entry is looked up under the lock but read after it, while the evictor frees entries
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry { int key, value; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *cache[4];
static int seen;

static void *reader(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    struct entry *found = cache[2];
#ifdef FIXED
    int value = found ? found->value : 0;
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    int value = found ? found->value : 0;
#endif
    pthread_mutex_lock(&lock);
    seen += value;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *evictor(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    struct entry *old = cache[2];
    cache[2] = NULL;
    pthread_mutex_unlock(&lock);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    cache[2] = malloc(sizeof *cache[2]);
    *cache[2] = (struct entry){2, 20};
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, evictor, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", seen);
    return 0;
}
