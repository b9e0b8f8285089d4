// Two pipes are used as locks; one variable is protected by the one here and by the other there.
// proven: value
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int left[2], right[2], value;

static void change(int *lock) {
    char token;
    if (read(lock[0], &token, 1) != 1) abort();
    value++;
    if (write(lock[1], &token, 1) != 1) abort();
}

static void *first(void *arg) {
    change(left);
    return arg;
}

static void *second(void *arg) {
    usleep(20000);
    change(right);
    return arg;
}

int main(void) {
    if (pipe(left) || pipe(right) || write(left[1], "a", 1) != 1 || write(right[1], "a", 1) != 1) abort();
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
