// kind: use-after-free
// effect: use after scope
// also: clang -O2
// bug: A request lies in a block. When it takes too long, its sender goes on after the block, and the server still fills the answer in.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct request {
    int question;
    int answer;
    int padding[2];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct request *pending;
static int done, late, rounds;

static void *server(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!pending)
        pthread_cond_wait(&changed, &lock);
    struct request *mine = pending;
    pthread_mutex_unlock(&lock);
    mine->answer = mine->question * 2;
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, server, NULL);
    for (int tries = 0; tries < 1; tries++) {
        struct request request = {21, 0, {0, 0}};
        pthread_mutex_lock(&lock);
        pending = &request;
        pthread_cond_broadcast(&changed);
#ifdef FIXED
        while (!done)
            pthread_cond_wait(&changed, &lock);
#endif
        pthread_mutex_unlock(&lock);
#ifndef FIXED
        usleep(200000);
#endif
    }
    pthread_mutex_lock(&lock);
    rounds++;
    late = !done;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    printf("%d rounds, late: %d\n", rounds, late);
    return 0;
}
