// A lock that is a byte in a pipe, read and written by system calls of its own.
#include <sys/syscall.h>

static int ends[2];

static long call(long number, long a, const void *b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

__attribute__((constructor)) static void begin(void) {
    call(SYS_pipe, (long)ends, 0, 0);
    call(SYS_write, ends[1], "x", 1);
}

void plain_lock(void) {
    char byte;
    call(SYS_read, ends[0], &byte, 1);
}

void plain_unlock(void) { call(SYS_write, ends[1], "x", 1); }
