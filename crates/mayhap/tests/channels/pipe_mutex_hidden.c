// A pipe is used as a lock; one of two threads writes the variable after it has put the token back.
// proven: value
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int lock[2], value, other;

static void *first(void *arg) {
    char token;
    if (read(lock[0], &token, 1) != 1) abort();
    other++;
    if (write(lock[1], &token, 1) != 1) abort();
    value = 1;
    return arg;
}

static void *second(void *arg) {
    char token;
    usleep(20000);
    if (read(lock[0], &token, 1) != 1) abort();
    other++;
    value = 2;
    if (write(lock[1], &token, 1) != 1) abort();
    return arg;
}

int main(void) {
    if (pipe(lock) || write(lock[1], "a", 1) != 1) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
