// kind: use-after-free
// effect: use after free
// bug: the descriptor of a file is closed while another thread may still come to read it
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int file;
static char first;

static void *reader(void *unused) {
    (void)unused;
    char byte = 0;
    if (pread(file, &byte, 1, 0) == 1) first = byte;
    return NULL;
}

int main(void) {
    pthread_t thread;
    file = open("/etc/passwd", O_RDONLY);
    pthread_create(&thread, NULL, reader, NULL);
    usleep(30000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    close(file);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", first != 0);
    return 0;
}
