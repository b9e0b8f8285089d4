// The kernel's sleep on a word, and threads.
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void sleep_on(atomic_int *word, int expected) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, 0, 0, 0);
}
static inline void wake(atomic_int *word, int most) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, 0, 0, 0);
}
