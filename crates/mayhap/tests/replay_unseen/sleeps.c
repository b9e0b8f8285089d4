// A lock that sleeps in a system call of its own.
#include <linux/futex.h>
#include <sys/syscall.h>

static int word;

static long futex(long operation, long value) {
    long result;
    register long no_time __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_futex), "D"(&word), "S"(operation), "d"(value), "r"(no_time)
                     : "rcx", "r11", "memory");
    return result;
}

void plain_lock(void) {
    int found = __sync_val_compare_and_swap(&word, 0, 1);
    while (found) {
        if (found == 2 || __sync_val_compare_and_swap(&word, 1, 2)) futex(FUTEX_WAIT, 2);
        found = __sync_val_compare_and_swap(&word, 0, 2);
    }
}

void plain_unlock(void) {
    if (__sync_fetch_and_sub(&word, 1) != 1) {
        __sync_lock_release(&word);
        futex(FUTEX_WAKE, 1);
    }
}
