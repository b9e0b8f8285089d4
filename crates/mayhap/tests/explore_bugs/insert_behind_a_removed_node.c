// bug: a node is inserted behind one that another thread unlinks at the same time
#include "threads.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_of[5] = {1, 2, 0, 0, 0};
static int predecessor(void) {
    LOCK(lock);
    int node = next_of[0];
    UNLOCK(lock);
    return node;
}
static void *insert(void *p) {
    int before = predecessor();
    LOCK(lock);
    next_of[3] = next_of[before];
    next_of[before] = 3;
    UNLOCK(lock);
    return p;
}
static void *unlink_first(void *p) {
    LOCK(lock);
    next_of[0] = next_of[next_of[0]];
    UNLOCK(lock);
    return p;
}
int main(void) {
    RUN(insert, unlink_first);
    int node = 0, found = 0;
    while ((node = next_of[node])) found |= node == 3;
    CHECK(found);
}
