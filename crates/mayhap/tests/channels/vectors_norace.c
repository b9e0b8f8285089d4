// readv and writev, and vmsplice.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

int ends[2], back[2], value;
char one[2], two[2];

static void *receive(void *arg) {
    struct iovec parts[2] = {{one, 2}, {two, 2}};
    if (readv(ends[0], parts, 2) != 4) abort();
    value++;
    struct iovec part = {one, 2};
    if (vmsplice(back[1], &part, 1, 0) != 2) abort();
    return arg;
}

int main(void) {
    if (pipe(ends) || pipe(back)) abort();
    pthread_t a;
    pthread_create(&a, 0, receive, 0);
    value = 4;
    char text[] = "abcd";
    struct iovec parts[2] = {{text, 1}, {text + 1, 3}};
    if (writev(ends[1], parts, 2) != 4) abort();
    char answer[2];
    if (read(back[0], answer, 2) != 2) abort();
    value++;
    pthread_join(a, 0);
    return value != 6;
}
