// kind: null-dereference
// effect: null dereference
// bug: whether a key has a payload is asked under the lock, and the payload is read under the lock again; revoking the key in between sets it
// to null
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct payload { int bytes; };
static struct payload *payload;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *reads(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    if (payload) total += payload->bytes;
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_lock(&lock);
    int is_valid = payload != NULL;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    if (is_valid) total += payload->bytes;
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

static void *revokes(void *unused) {
    usleep(100000);
    pthread_mutex_lock(&lock);
    struct payload *old = payload;
    payload = NULL;
    pthread_mutex_unlock(&lock);
    (void)old;
    return unused;
}

int main(void) {
    struct payload *kept = malloc(sizeof *kept);
    kept->bytes = 32;
    payload = kept;
    pthread_t a, b;
    pthread_create(&a, NULL, reads, NULL);
    pthread_create(&b, NULL, revokes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", total);
    free(kept);
    return 0;
}
