#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int size;

static int count(void)
{
    pthread_mutex_lock(&lock);
    int n = size;
    pthread_mutex_unlock(&lock);
    return n;
}

static void *add(void *unused)
{
    pthread_mutex_lock(&lock);
    size = count() + 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    pthread_join(thread, NULL);
    return 0;
}
