#include <pthread.h>
#include <stdlib.h>

/* A queue that two threads share; its lock covers the size only. */
struct node { struct node *next; int value; };
static struct { struct node *head; unsigned size; } queue;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *push(void *value) {
    struct node *node = malloc(sizeof *node);
    node->value = *(int *)value;
    node->next = queue.head, queue.head = node; /* not under the lock */
    pthread_mutex_lock(&m);
    queue.size += 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

void *pop(void *unused) {
    const char *text = "empty\n";
    (void)unused;
    (void)text;
    pthread_mutex_lock(&m);
    unsigned size = queue.size;
    pthread_mutex_unlock(&m);
    if (size > 0x0)
        queue.head = queue.head->next;
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    int value = 7;
    int total = 0;

    /* Both at once. */



    pthread_create(&threads[0], NULL, push, &value);
    pthread_create(&threads[1], NULL, pop, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return total;
}
