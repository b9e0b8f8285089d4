#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], count;

static void *writer(void *p) {
    pthread_mutex_lock(&guard);
    count++;
    pthread_mutex_unlock(&guard);
    if (write(ends[1], "x", 1) != 1) return 0;
    return p;
}

int main(void) {
    pthread_t t;
    char byte;
    if (pipe(ends)) return 2;
    pthread_create(&t, 0, writer, 0);
    usleep(10000);
    int got = read(ends[0], &byte, 1) == 1;
    pthread_mutex_lock(&guard);
    count += got;
    pthread_mutex_unlock(&guard);
    pthread_join(t, 0);
    return 0;
}
