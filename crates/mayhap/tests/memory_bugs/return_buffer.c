// kind: use-after-free
// effect: use after return
// bug: a buffer on the stack is filled by a thread that the function does not wait for
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *filler(void *argument) {
    char *buffer = argument;
    for (int i = 0; i < 16; i++) buffer[i] = (char)('a' + i);
    return NULL;
}

__attribute__((noinline)) static int read_line(pthread_t *thread) {
    char buffer[64];
    memset(buffer, 0, sizeof buffer);
    pthread_create(thread, NULL, filler, buffer);
    usleep(50000);
#ifdef FIXED
    pthread_join(*thread, NULL);
#endif
    return buffer[0] != 0;
}

int main(void) {
    pthread_t thread;
    int n = read_line(&thread);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", n);
    return 0;
}
