// bug: four reads must alternate between the threads, each seeing the other's latest store
#include "threads.h"
static atomic_int ask, answer;
static void *client(void *p) {
    atomic_store(&ask, 1);
    if (atomic_load(&answer) == 1) {
        atomic_store(&ask, 2);
        CHECK(atomic_load(&answer) != 2);
    }
    return p;
}
static void *server(void *p) {
    for (int i = 1; i <= 2; i++)
        if (atomic_load(&ask) == i) atomic_store(&answer, i);
    return p;
}
int main(void) { RUN(client, server); }
