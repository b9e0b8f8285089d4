#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t from = PTHREAD_MUTEX_INITIALIZER, to = PTHREAD_MUTEX_INITIALIZER;

static void *pay(void *unused)
{
    pthread_mutex_lock(&from);
    pthread_mutex_lock(&to);
    pthread_mutex_unlock(&to);
    pthread_mutex_unlock(&from);
    return unused;
}

static void *refund(void *unused)
{
    usleep(50000);
    pthread_mutex_lock(&to);
    pthread_mutex_lock(&from);
    pthread_mutex_unlock(&from);
    pthread_mutex_unlock(&to);
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, pay, NULL);
    pthread_create(&b, NULL, refund, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
