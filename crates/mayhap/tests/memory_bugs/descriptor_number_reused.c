// kind: use-after-free
// effect: use after free
// bug: a log is closed while a thread may still write its last line, which then goes into the file that got its number
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int log_file, other;
static long result;

static void *user(void *unused) {
    (void)unused;
    result = write(log_file, "last line\n", 10);
    return NULL;
}

int main(void) {
    pthread_t thread;
    log_file = open("/dev/null", O_WRONLY);
    pthread_create(&thread, NULL, user, NULL);
    usleep(50000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    close(log_file);
    other = open("/dev/null", O_WRONLY);
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", result >= -1);
    return 0;
}
