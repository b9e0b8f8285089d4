// The functions of GLib that lock, with lock words of their own as GLib has them.
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>

typedef union { void *p; unsigned i[2]; } GMutex;
typedef struct { void *p; unsigned i[2]; } GCond;
typedef struct { unsigned long p; void *i[2]; } GRWLock;

static long futex(void *at, int operation, int value) {
    long result;
    register long timeout __asm__("r10") = 0;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_futex), "D"(at), "S"(operation), "d"(value), "r"(timeout) : "rcx", "r11", "memory");
    return result;
}

void g_mutex_lock(GMutex *m) {
    while (__atomic_exchange_n(&m->i[0], 1, __ATOMIC_ACQUIRE)) futex(&m->i[0], FUTEX_WAIT_PRIVATE, 1);
}

void g_mutex_unlock(GMutex *m) {
    __atomic_store_n(&m->i[0], 0, __ATOMIC_RELEASE);
    futex(&m->i[0], FUTEX_WAKE_PRIVATE, 1);
}

int g_mutex_trylock(GMutex *m) {
    return !__atomic_exchange_n(&m->i[0], 1, __ATOMIC_ACQUIRE);
}

void g_cond_wait(GCond *c, GMutex *m) {
    unsigned seen = __atomic_load_n(&c->i[0], __ATOMIC_ACQUIRE);
    g_mutex_unlock(m);
    futex(&c->i[0], FUTEX_WAIT_PRIVATE, seen);
    g_mutex_lock(m);
}

void g_cond_signal(GCond *c) {
    __atomic_fetch_add(&c->i[0], 1, __ATOMIC_RELEASE);
    futex(&c->i[0], FUTEX_WAKE_PRIVATE, 1);
}

void g_cond_broadcast(GCond *c) {
    __atomic_fetch_add(&c->i[0], 1, __ATOMIC_RELEASE);
    futex(&c->i[0], FUTEX_WAKE_PRIVATE, 1 << 30);
}

int g_rw_lock_writer_trylock(GRWLock *l) {
    unsigned long none = 0;
    return __atomic_compare_exchange_n(&l->p, &none, -1ul, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void g_rw_lock_writer_lock(GRWLock *l) {
    while (!g_rw_lock_writer_trylock(l)) sched_yield();
}

void g_rw_lock_writer_unlock(GRWLock *l) {
    __atomic_store_n(&l->p, 0, __ATOMIC_RELEASE);
}

int g_rw_lock_reader_trylock(GRWLock *l) {
    unsigned long now = __atomic_load_n(&l->p, __ATOMIC_RELAXED);
    return now != -1ul && __atomic_compare_exchange_n(&l->p, &now, now + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void g_rw_lock_reader_lock(GRWLock *l) {
    while (!g_rw_lock_reader_trylock(l)) sched_yield();
}

void g_rw_lock_reader_unlock(GRWLock *l) {
    __atomic_fetch_sub(&l->p, 1, __ATOMIC_RELEASE);
}
