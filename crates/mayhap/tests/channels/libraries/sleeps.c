// A library with a lock of its own: a word on which threads sleep by a system call that nothing interposes.
#include <linux/futex.h>
#include <sys/syscall.h>

static int word;

static long futex(int *at, int operation, int value) {
    long result;
    register long timeout __asm__("r10") = 0;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_futex), "D"(at), "S"(operation), "d"(value), "r"(timeout) : "rcx", "r11", "memory");
    return result;
}

void sleeps_lock(void) {
    int free = 0;
    if (__atomic_compare_exchange_n(&word, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE)) futex(&word, FUTEX_WAIT_PRIVATE, 2);
}

void sleeps_unlock(void) {
    if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2) futex(&word, FUTEX_WAKE_PRIVATE, 1);
}
