// One thread submits an operation to a ring of the kernel, another one waits for its completion.
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int ring, value;
char *submissions, *completions;
struct io_uring_sqe *entries;
struct io_uring_params params;

static void *waits(void *arg) {
    _Atomic unsigned *head = (void *)(completions + params.cq_off.head), *tail = (void *)(completions + params.cq_off.tail);
    while (atomic_load(tail) == atomic_load(head))
        syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, 0, 0);
    atomic_store(head, 1);
    if (value != 1) abort();
    return arg;
}

int main(void) {
    ring = syscall(SYS_io_uring_setup, 4, &params);
    if (ring < 0) return 0;
    submissions = mmap(0, params.sq_off.array + 4 * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    completions = mmap(0, params.cq_off.cqes + 8 * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
    entries = mmap(0, 4 * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    pthread_t a;
    pthread_create(&a, 0, waits, 0);
    value = 1;
    entries[0].opcode = IORING_OP_NOP;
    *(unsigned *)(submissions + params.sq_off.array) = 0;
    atomic_store((_Atomic unsigned *)(submissions + params.sq_off.tail), 1);
    if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, 0, 0) != 1) abort();
    pthread_join(a, 0);
    return 0;
}
