// A lock and a hand-over of the program's own, told as to ThreadSanitizer.
// counts: fork=2 join=2
#include <pthread.h>
#include <stdlib.h>

void __tsan_acquire(void *object);
void __tsan_release(void *object);
void __tsan_mutex_post_lock(void *mutex, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *mutex, unsigned flags);
void __tsan_mutex_create(void *mutex, unsigned flags);

static int word, ready;
int value, message;

// Nobody looks inside: only what it says of itself tells that it orders.
__attribute__((no_sanitize("thread"))) static void lock(void) {
    while (__sync_lock_test_and_set(&word, 1)) {}
    __tsan_mutex_post_lock(&word, 0, 0);
}

__attribute__((no_sanitize("thread"))) static void unlock(void) {
    __tsan_mutex_pre_unlock(&word, 0);
    __sync_lock_release(&word);
}

__attribute__((no_sanitize("thread"))) static void hand_over(void) {
    __tsan_release(&ready);
    __sync_lock_test_and_set(&ready, 1);
}

__attribute__((no_sanitize("thread"))) static void receive(void) {
    while (!__sync_fetch_and_add(&ready, 0)) {}
    __tsan_acquire(&ready);
}

static void *first(void *arg) {
    message = 7;
    hand_over();
    lock();
    value++;
    unlock();
    return arg;
}

static void *second(void *arg) {
    receive();
    if (message != 7) abort();
    lock();
    value++;
    unlock();
    return arg;
}

int main(void) {
    pthread_t a, b;
    __tsan_mutex_create(&word, 0);
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return value != 2;
}
