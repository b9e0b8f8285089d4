// FUTEX_CMP_REQUEUE moves a sleeping thread from one word to another.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic int gate, turn;
int value;

static void *wait_for_gate(void *arg) {
    while (!atomic_load(&gate))
        syscall(SYS_futex, &gate, FUTEX_WAIT, 0, 0, 0, 0);
    value++;
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, wait_for_gate, 0);
    value = 1;
    atomic_store(&gate, 1);
    syscall(SYS_futex, &gate, FUTEX_CMP_REQUEUE, 0, (void *)1, &turn, 1);
    syscall(SYS_futex, &turn, FUTEX_WAKE, 1, 0, 0, 0);
    syscall(SYS_futex, &gate, FUTEX_WAKE, 1, 0, 0, 0);
    pthread_join(a, 0);
    return value != 2;
}
