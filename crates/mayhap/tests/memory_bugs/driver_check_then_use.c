// kind: use-after-free
// effect: use after free
// bug: a request tests that the device is there, and uses it after another thread has detached it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct device { int power, requests; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device *device;

static struct device *get(void) {
    pthread_mutex_lock(&lock);
    struct device *found = device;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return found;
}

static void *request(void *unused) {
    (void)unused;
    struct device *mine = get();
    if (mine && mine->power) mine->requests++;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return NULL;
}

static void *detach(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    struct device *gone = device;
    device = NULL;
    pthread_mutex_unlock(&lock);
    free(gone);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    device = calloc(1, sizeof *device);
    device->power = 1;
    pthread_create(&a, NULL, request, NULL);
    pthread_create(&b, NULL, detach, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
