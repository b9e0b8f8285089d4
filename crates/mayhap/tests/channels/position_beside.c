// proven: late
// What a thread does after it moved the position of a shared descriptor is not over when another one finds it moved.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int file, early, late;

static void *writes(void *arg)
{
    early = 1;
    if (write(file, "0123456789", 10) != 10)
        abort();
    late = 1;
    return arg;
}

int main(void)
{
    char name[] = "/tmp/positionXXXXXX";
    file = mkstemp(name);
    unlink(name);
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
    while (lseek(file, 0, SEEK_CUR) < 10)
        usleep(1000);
    int seen = early + late;
    pthread_join(thread, NULL);
    return seen > 2;
}
