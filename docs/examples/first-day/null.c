#include <pthread.h>
#include <stddef.h>

struct job {
    int id;
};

static struct job *next;

static void *work(void *unused)
{
    next->id++;
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
