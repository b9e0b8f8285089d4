#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void *forwards(void *unused)
{
    pthread_mutex_lock(&a);
    usleep(100000);
    pthread_mutex_lock(&b);
    return unused;
}

static void *backwards(void *unused)
{
    pthread_mutex_lock(&b);
    usleep(100000);
    pthread_mutex_lock(&a);
    return unused;
}

int main(void)
{
    pthread_t x, y;
    pthread_create(&x, NULL, forwards, NULL);
    pthread_create(&y, NULL, backwards, NULL);
    pthread_join(x, NULL);
    pthread_join(y, NULL);
    return 0;
}
