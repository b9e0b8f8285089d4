// proven: count
// Whichever number a descriptor gets, what threads do before and after they open and close some is not ordered by that.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int count, first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *closes(void *arg)
{
    count++;
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
    int other = open("/dev/null", O_WRONLY);
    pthread_mutex_unlock(&lock);
    count++;
    pthread_join(thread, NULL);
    return other < 0;
}
