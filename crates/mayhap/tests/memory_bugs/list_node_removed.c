// kind: use-after-free
// effect: use after free
// bug: a walker follows the next pointer of a node that another thread removes and frees
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node { int value; struct node *next; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *head;
static int sum;

static void *walker(void *unused) {
    (void)unused;
    int mine = 0;
    pthread_mutex_lock(&lock);
    struct node *node = head;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
#endif
    for (; node; node = node->next) mine += node->value;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    __atomic_store_n(&sum, mine, __ATOMIC_RELAXED);
    return NULL;
}

static void *remover(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    struct node *gone = head;
    head = gone->next;
    pthread_mutex_unlock(&lock);
    free(gone);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    for (int i = 0; i < 3; i++) {
        struct node *node = malloc(sizeof *node);
        *node = (struct node){i, head};
        head = node;
    }
    pthread_create(&a, NULL, walker, NULL);
    pthread_create(&b, NULL, remover, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
