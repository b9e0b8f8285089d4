// Two threads write to one file. Who finds both parts there knows what each did before, whichever came last.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int file, one, two;

static void *first(void *arg)
{
    one = 1;
    if (pwrite(file, "a", 1, 0) != 1)
        abort();
    return arg;
}

static void *second(void *arg)
{
    two = 2;
    usleep(20000);
    if (pwrite(file, "b", 1, 1) != 1)
        abort();
    return arg;
}

int main(void)
{
    char name[] = "/tmp/twoXXXXXX";
    file = mkstemp(name);
    unlink(name);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    char text[2] = {0, 0};
    while (pread(file, text, 2, 0) < 2 || text[0] != 'a' || text[1] != 'b')
        usleep(5000);
    if (one + two != 3)
        abort();
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
