#include <pthread.h>
#include <stdio.h>

static int hits;

static void *serve(void *unused)
{
    hits++;
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t a, b;
    pthread_create(&a, NULL, serve, NULL);
    pthread_create(&b, NULL, serve, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%s: %d hits\n", argc > 1 ? argv[1] : "server", hits);
    return 0;
}
