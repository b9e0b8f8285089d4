// kind: order
// bug: an object is put into the shared list before its fields are set
// expect: heap
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct parcel {
    int weight;
    int address;
};
static pthread_mutex_t belt = PTHREAD_MUTEX_INITIALIZER;
static struct parcel *parcel;
static int shipped, seen;

static void *packer(void *unused) {
    (void)unused;
    struct parcel *fresh = malloc(sizeof *fresh);
    fresh->address = 3;
    pthread_mutex_lock(&belt);
    parcel = fresh;
    pthread_mutex_unlock(&belt);
    pthread_mutex_lock(&belt);
    fresh->weight = 12;
    pthread_mutex_unlock(&belt);
    return NULL;
}

static void *shipper(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&belt);
    if (parcel) {
        shipped = parcel->weight;
        seen = 1;
    }
    pthread_mutex_unlock(&belt);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, packer, NULL);
    pthread_create(&b, NULL, shipper, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("shipped %d\n", shipped);
    assert(!seen || shipped == 12);
    free(parcel);
    return 0;
}
