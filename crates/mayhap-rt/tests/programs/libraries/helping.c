#include <pthread.h>
#include <unistd.h>

/* Threads of a library that knows nothing of recording. */
static void *run(void *call) {
    usleep(1000);
    ((void (*)(void))call)();
    return 0;
}

void help(void (*call)(void)) {
    pthread_t a, b;
    pthread_create(&a, 0, run, (void *)call);
    pthread_create(&b, 0, run, (void *)call);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
