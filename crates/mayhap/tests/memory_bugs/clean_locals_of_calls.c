// clean: two workers take the tasks of two calls of one function, whose variables lie at the same address; each call waits for its worker
#include <pthread.h>
#include <stdio.h>

struct task { int in, out; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct task *pending;
static int total;

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!pending) pthread_cond_wait(&changed, &lock);
    pending->out = pending->in + 1;
    pending = NULL;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

__attribute__((noinline)) static int submit(int in) {
    struct task task = {in, 0};
    pthread_mutex_lock(&lock);
    pending = &task;
    pthread_cond_broadcast(&changed);
    while (pending) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return task.out;
}

static void *client(void *unused) {
    (void)unused;
    total += submit(1);
    total += submit(2);
    return NULL;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    pthread_create(&c, NULL, client, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    printf("%d\n", total);
    return 0;
}
