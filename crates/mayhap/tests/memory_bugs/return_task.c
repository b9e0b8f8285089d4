// kind: use-after-free
// effect: use after return
// bug: a task on the stack is put into a queue, and its function returns after a time limit without taking it out
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct task { int input, output; struct task *next; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static struct task *head;
static int stop;
static void *worker(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!head && !stop) pthread_cond_wait(&some, &lock);
        struct task *task = head;
        if (task) head = task->next;
        pthread_mutex_unlock(&lock);
        if (!task) return NULL;
        task->output = task->input + 1;
    }
}

__attribute__((noinline)) static int submit(int n) {
    struct task task = {n, 0, NULL};
    pthread_mutex_lock(&lock);
    task.next = head;
    head = &task;
    pthread_cond_signal(&some);
    pthread_mutex_unlock(&lock);
    usleep(50000);
#ifdef FIXED
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_cond_signal(&some);
    pthread_mutex_unlock(&lock);
    extern pthread_t thread;
    pthread_join(thread, NULL);
#endif
    return n;
}

pthread_t thread;
int main(void) {
    pthread_create(&thread, NULL, worker, NULL);
    int n = submit(3);
#ifndef FIXED
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_cond_signal(&some);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
#endif
    printf("%d\n", n);
    return 0;
}
