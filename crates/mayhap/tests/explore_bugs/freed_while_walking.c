// bug: the next node is read under the lock but used after it; another thread frees it
#include "threads.h"
struct node { struct node *next; int value; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *list;
static void *walk(void *p) {
    LOCK(lock);
    struct node *node = list;
    UNLOCK(lock);
    while (node) {
        LOCK(lock);
        int value = node->value;
        node = node->next;
        UNLOCK(lock);
        CHECK(value > 0);
    }
    return p;
}
static void *pop(void *p) {
    LOCK(lock);
    struct node *first = list;
    list = first->next;
    UNLOCK(lock);
    LOCK(lock);
    first->value = -1;
    first->next = 0;
    UNLOCK(lock);
    return p;
}
int main(void) {
    for (int i = 1; i <= 3; i++) {
        struct node *node = malloc(sizeof *node);
        node->value = i;
        node->next = list;
        list = node;
    }
    RUN(walk, pop);
}
