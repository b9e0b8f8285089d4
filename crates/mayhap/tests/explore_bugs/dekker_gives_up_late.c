// bug: a thread that gives way takes its wish back only after it has looked whose turn it is
#include "threads.h"
static atomic_int wants[2], turn, inside;
static void *enter(void *p) {
    int me = (int)(long)p, other = 1 - me;
    atomic_store(&wants[me], 1);
    for (int i = 0; i < 2; i++) {
        if (!atomic_load(&wants[other]) || (i > 0 && atomic_load(&turn) == me)) {
            CHECK(atomic_fetch_add(&inside, 1) == 0);
            atomic_fetch_sub(&inside, 1);
            atomic_store(&turn, other);
            break;
        }
    }
    atomic_store(&wants[me], 0);
    return p;
}
int main(void) { RUN(enter, enter); }
