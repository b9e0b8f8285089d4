// bug: the writer waits for the first reader only; the second one may still use what it frees
#include "threads.h"
static atomic_int reading[2], current = 1, freed[3];
static void *use(void *p) {
    int me = (int)(long)p;
    atomic_store(&reading[me], 1);
    int mine = atomic_load(&current);
    for (int i = 0; i < 2; i++) CHECK(!atomic_load(&freed[mine]));
    atomic_store(&reading[me], 0);
    return p;
}
static void *replace(void *p) {
    int old = atomic_exchange(&current, 2);
    if (!atomic_load(&reading[0])) atomic_store(&freed[old], 1);
    return p;
}
int main(void) { RUN(use, use, replace); }
