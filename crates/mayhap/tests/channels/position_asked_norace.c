// Threads that find the position of a shared descriptor or stream moved know what others did before they moved it.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int file, written, moved, told;
static FILE *stream;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *writes(void *arg)
{
    written = 1;
    if (write(file, "0123456789", 10) != 10)
        abort();
    while (lseek(file, 0, SEEK_CUR) == 10)
        usleep(1000);
    if (moved != 2)
        abort();
    told = 3;
    pthread_mutex_lock(&lock);
    fputs("0123456789", stream);
    pthread_mutex_unlock(&lock);
    return arg;
}

static long where(void)
{
    pthread_mutex_lock(&lock);
    long at = ftell(stream);
    pthread_mutex_unlock(&lock);
    return at;
}

int main(void)
{
    char name[] = "/tmp/positionXXXXXX";
    file = mkstemp(name);
    unlink(name);
    stream = tmpfile();
    int copy = dup(file);
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
    while (lseek(copy, 0, SEEK_CUR) < 10)
        usleep(1000);
    if (written != 1)
        abort();
    moved = 2;
    lseek(copy, 5, SEEK_SET);
    while (where() < 10)
        usleep(1000);
    if (told != 3)
        abort();
    pthread_join(thread, NULL);
    return 0;
}
