// kind: race
// bug: the flag is set before any thread sets it, so a thread that waits for it may come first
// expect: report
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#ifdef FIXED
static atomic_int ready = 0;
#else
static atomic_int ready = 1;
#endif
static int report;

static void *writer(void *unused) {
    (void)unused;
    report = 1;
    atomic_store(&ready, 1);
    return NULL;
}

static void *reader(void *unused) {
    (void)unused;
    usleep(50000);
    if (atomic_load(&ready)) report = 2;
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, writer, NULL);
    pthread_create(&second, NULL, reader, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("%s\n", report ? "reported" : "nothing");
    return 0;
}
