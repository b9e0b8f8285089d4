// What is written after an end was closed is not handed over.
// proven: value
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int ends[2], value;

static void *wait_for_end(void *arg) {
    struct pollfd one = {ends[0], POLLIN, 0};
    if (poll(&one, 1, -1) != 1) abort();
    value++;
    return arg;
}

int main(void) {
    if (pipe(ends)) abort();
    pthread_t a;
    pthread_create(&a, 0, wait_for_end, 0);
    close(ends[1]);
    value = 1;
    pthread_join(a, 0);
    return 0;
}
