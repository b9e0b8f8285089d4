// kind: use-after-free
// effect: use after free
// bug: a table grows by mremap while a thread may still write to its old place
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROWS 1024
static int *table;
static long result;

static void *user(void *unused) {
    (void)unused;
    table[3] = 7;
    return NULL;
}

int main(void) {
    pthread_t thread;
    table = mmap(NULL, ROWS * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, NULL, user, NULL);
    usleep(50000);
#ifdef FIXED
    pthread_join(thread, NULL);
#endif
    void *room = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int *moved = mremap(table, ROWS * sizeof *table, 4 * ROWS * sizeof *table, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    result = moved == room ? 0 : -1;
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    printf("%d\n", result >= -1);
    return 0;
}
