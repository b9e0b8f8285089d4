// twin: refcount_unlocked_drop.c
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int references = 2;
static int released, log_head, log_tail;

static void drop_locked(void) {
    pthread_mutex_lock(&lock);
    references--;
    pthread_mutex_unlock(&lock);
}

static void *reader(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    log_head++;
    pthread_mutex_unlock(&lock);
    drop_locked();
    pthread_mutex_lock(&lock);
    log_head++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *writer(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    log_tail++;
    pthread_mutex_unlock(&lock);
    drop_locked();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(references == 0);
    released = 1;
    printf("released %d after %d log lines\n", released, log_head + log_tail);
    return 0;
}
