#include "threads.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
struct item {
    int key, refs, dead;
};
static struct item *slot;
static struct item pool[4];
static int used;
static struct item *find(int key) {
    LOCK(m);
    struct item *i = slot && slot->key == key ? slot : 0;
#ifdef FIXED
    if (i) i->refs++;
#endif
    UNLOCK(m);
    return i;
}
static void *get(void *p) {
    struct item *i = find(7);
    if (!i) {
        LOCK(m);
        i = &pool[used++];
        i->key = 7;
        i->refs = 1;
        slot = i;
        UNLOCK(m);
    }
#ifndef FIXED
    else {
        LOCK(m);
        i->refs++;
        UNLOCK(m);
    }
#endif
    LOCK(m);
    int dead = i->dead;
    i->refs--;
    UNLOCK(m);
    CHECK(!dead);
    return p;
}
static void *evict(void *p) {
    LOCK(m);
    if (slot && slot->refs == 0) {
        slot->dead = 1;
        slot = 0;
    }
    UNLOCK(m);
    return p;
}
int main(void) {
    RUN(get, get, evict);
    return 0;
}
