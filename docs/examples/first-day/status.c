#include <pthread.h>
#include <stdio.h>

static void *work(void *unused)
{
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    fprintf(stderr, "no disk left\n");
    return 3;
}
