// A thread reads the mode under the lock, but not in the state that another thread sets between two others.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int mode = 1;

static void set(int value)
{
    pthread_mutex_lock(&lock);
    mode = value;
    pthread_mutex_unlock(&lock);
}

static void *changes(void *arg)
{
    set(2);
    usleep(1000);
    set(3);
    return arg;
}

static void *reads(void *arg)
{
    usleep(30000);
    pthread_mutex_lock(&lock);
    int seen = mode;
    pthread_mutex_unlock(&lock);
    assert(seen != BAD);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, changes, NULL);
    pthread_create(&b, NULL, reads, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
