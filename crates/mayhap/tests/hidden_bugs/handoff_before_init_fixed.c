// twin: handoff_before_init.c
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int request, answer;

static void *helper(void *unused) {
    (void)unused;
    usleep(30000);  // start-up takes its time
    pthread_mutex_lock(&lock);
    answer = request * 2;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&lock);
    request = 21;
    pthread_mutex_unlock(&lock);
    pthread_create(&thread, NULL, helper, NULL);
    pthread_join(thread, NULL);
    printf("answer %d\n", answer);
    assert(answer == 42);
    return 0;
}
