#include "threads.h"
struct node {
    int key;
    struct node *next;
    pthread_mutex_t m;
};
static struct node n[4] = {{0, &n[1], PTHREAD_MUTEX_INITIALIZER},
                           {1, &n[2], PTHREAD_MUTEX_INITIALIZER},
                           {2, &n[3], PTHREAD_MUTEX_INITIALIZER},
                           {3, 0, PTHREAD_MUTEX_INITIALIZER}};
static void del(int key) {
    struct node *a = &n[0];
    LOCK(a->m);
    while (a->next) {
        struct node *b = a->next;
#ifdef FIXED
        LOCK(b->m);
        if (b->key == key) {
            a->next = b->next;
            UNLOCK(b->m);
            break;
        }
        UNLOCK(a->m);
        a = b;
#else
        if (b->key == key) {
            a->next = b->next;
            break;
        }
        UNLOCK(a->m);
        LOCK(b->m);
        a = b;
#endif
    }
    UNLOCK(a->m);
}
static void *d1(void *p) {
    del(1);
    return p;
}
static void *d2(void *p) {
    del(2);
    return p;
}
int main(void) {
    RUN(d1, d2);
    CHECK(n[0].next == &n[3]);
    return 0;
}
