// bug: a semaphore that is meant to let one thread in starts with two
#include <semaphore.h>
#include "threads.h"
static sem_t one;
static int total;
static void *add(void *p) {
    for (int i = 0; i < 2; i++) {
        sem_wait(&one);
        int old = __atomic_load_n(&total, __ATOMIC_SEQ_CST);
        __atomic_store_n(&total, old + 1, __ATOMIC_SEQ_CST);
        sem_post(&one);
    }
    return p;
}
int main(void) {
    sem_init(&one, 0, 2);
    RUN(add, add, add);
    CHECK(total == 6);
}
