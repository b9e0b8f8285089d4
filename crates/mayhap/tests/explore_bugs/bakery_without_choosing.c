// bug: Lamport's bakery without the flag that says that a number is being chosen
#include "threads.h"
static atomic_int number[2], inside;
static void *enter(void *p) {
    int me = (int)(long)p, other = 1 - me;
    int mine = atomic_load(&number[other]) + 1;
    atomic_store(&number[me], mine);
    int theirs = atomic_load(&number[other]);
    if (theirs == 0 || mine < theirs || (mine == theirs && me < other)) {
        CHECK(atomic_fetch_add(&inside, 1) == 0);
        atomic_fetch_sub(&inside, 1);
    }
    atomic_store(&number[me], 0);
    return p;
}
int main(void) { RUN(enter, enter); }
