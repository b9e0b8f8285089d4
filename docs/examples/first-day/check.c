#include <assert.h>
#include <pthread.h>

static void *work(void *unused)
{
    int left = -1;
    assert(left >= 0);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
