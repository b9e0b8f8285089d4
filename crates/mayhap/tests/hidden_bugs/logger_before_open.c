// kind: order
// bug: nothing makes the first message wait for the logger to be opened
// expect: sink
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char buffer[64], *sink;
static int length, is_open;

static void *opener(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    sink = buffer;
    is_open = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *chatter(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    sink[length++] = 'x';  // crashes if nobody opened it
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, opener, NULL);
    pthread_create(&b, NULL, chatter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%s, open %d\n", buffer, is_open);
    return 0;
}
