// bug: a task is counted as done before the tasks that it starts are counted as begun
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int head, tail = 1;
static atomic_int pending = 1, ended;
static void *work(void *p) {
    for (int tries = 0; tries < 3; tries++) {
        LOCK(lock);
        int got = head < tail ? (head++, 1) : 0, first = got && head == 1;
        UNLOCK(lock);
        if (!got) {
            if (atomic_load(&pending) == 0) atomic_store(&ended, 1);
            continue;
        }
        CHECK(!atomic_load(&ended));
        atomic_fetch_sub(&pending, 1);
        if (first) {
            LOCK(lock);
            tail++;
            UNLOCK(lock);
            atomic_fetch_add(&pending, 1);
        }
    }
    return p;
}
int main(void) { RUN(work, work); }
