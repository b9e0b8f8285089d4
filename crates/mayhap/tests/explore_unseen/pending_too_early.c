#include "threads.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int q[8], n;
static atomic_int pending = 1, done, ended;
static void push(int j) {
    LOCK(m);
    q[n++] = j;
    UNLOCK(m);
}
static int pop(void) {
    LOCK(m);
    int j = n ? q[--n] : -1;
    UNLOCK(m);
    return j;
}
static void work(int j) {
    if (j == 0) {
#ifdef FIXED
        atomic_fetch_add(&pending, 2);
        push(1);
        push(2);
        atomic_fetch_sub(&pending, 1);
#else
        atomic_fetch_sub(&pending, 1);
        atomic_fetch_add(&pending, 2);
        push(1);
        push(2);
#endif
    } else
        atomic_fetch_sub(&pending, 1);
    CHECK(!atomic_load(&ended));
    atomic_fetch_add(&done, 1);
}
static void *w(void *p) {
    for (int k = 0; k < 3; k++) {
        int j = pop();
        if (j >= 0) work(j);
    }
    return p;
}
static void *waiter(void *p) {
    if (atomic_load(&pending) == 0) {
#ifndef FIXED
        atomic_store(&ended, 1);
#endif
    }
    return p;
}
int main(void) {
    push(0);
    RUN(w, w, waiter);
    return 0;
}
