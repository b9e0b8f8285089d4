// kind: use-after-free
// effect: use after free
// bug: a file is closed while a thread may still look how long it is
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int file;
static long result;

static void *user(void *unused) {
    (void)unused;
    result = lseek(file, 0, SEEK_END);
    return NULL;
}

int main(void) {
    pthread_t thread;
    file = open("/etc/passwd", O_RDONLY);
    pthread_create(&thread, NULL, user, NULL);
    usleep(50000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    close(file);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", result >= -1);
    return 0;
}
