// kind: uninitialised
// effect: uninitialised read
// bug: a table of handlers is entered in the registry under the lock and filled afterwards
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct driver { long (*probe)(long); long argument; };
static struct driver *registered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long result;

static long doubled(long n) { return 2 * n; }

static void fill(struct driver *driver) {
    driver->probe = doubled;
    driver->argument = 21;
}

static void *registers(void *unused) {
    struct driver *driver = malloc(sizeof *driver);
#ifdef FIXED
    fill(driver);
#endif
    pthread_mutex_lock(&lock);
    registered = driver;
    pthread_mutex_unlock(&lock);
#ifndef FIXED
    fill(driver);
#endif
    return unused;
}

static void *probes(void *unused) {
    usleep(100000);
    pthread_mutex_lock(&lock);
    struct driver *driver = registered;
    pthread_mutex_unlock(&lock);
    if (driver) result = driver->probe(driver->argument);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, registers, NULL);
    pthread_create(&b, NULL, probes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%s\n", result == 0 || result == 42 ? "right" : "wrong");
    free(registered);
    return 0;
}
