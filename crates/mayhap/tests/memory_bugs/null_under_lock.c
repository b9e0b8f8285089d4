// kind: null-dereference
// effect: null dereference
// bug: the device is looked up under the lock and used without a test, though a thread that removes it clears the pointer
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct device { int reads; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device *device, *parked;

static void *user(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
#ifdef FIXED
    if (device)
#endif
    device->reads++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *remover(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    parked = device;
    device = NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    device = calloc(1, sizeof *device);
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, remover, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free(parked);
    return 0;
}
