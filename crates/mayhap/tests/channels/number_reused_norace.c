// A descriptor gets the lowest number that is free. A thread that gets one again knows that another thread has closed it.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int data, first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *closes(void *arg)
{
    data = 42;
    pthread_mutex_lock(&lock);
    close(first);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    first = open("/dev/null", O_RDONLY);
    pthread_t thread;
    pthread_create(&thread, NULL, closes, NULL);
    usleep(50000);
    pthread_mutex_lock(&lock);
    int again = open("/dev/null", O_WRONLY);
    pthread_mutex_unlock(&lock);
    if (again == first && data != 42)
        abort();
    pthread_join(thread, NULL);
    return 0;
}
