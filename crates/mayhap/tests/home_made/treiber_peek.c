// kind: race use-after-free
// bug: a thread looks into the node on top of the stack, which another thread may have popped and freed
// expect: heap node stack value
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct node {
    struct node *next;
    int value;
};
static _Atomic(struct node *) stack;

static void push(int value) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    node->next = atomic_load_explicit(&stack, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&stack, &node->next, node, memory_order_release, memory_order_relaxed)) {
    }
}

static int peek(void) {
    struct node *top = atomic_load_explicit(&stack, memory_order_acquire);
    return top ? top->value : 0;
}

static struct node *pop(void) {
    struct node *top = atomic_load_explicit(&stack, memory_order_acquire);
    while (top && !atomic_compare_exchange_weak_explicit(&stack, &top, top->next, memory_order_acquire, memory_order_acquire)) {
    }
    return top;
}

static void *look(void *unused) {
    printf("on top: %d\n", peek());
    return unused;
}

static void *take(void *popped) {
    usleep(30000);
    struct node *node = pop();
#ifdef FIXED
    // Nodes are freed when no thread can look into them any more.
    *(struct node **)popped = node;
#else
    free(node);
    (void)popped;
#endif
    return NULL;
}

int main(void) {
    push(1);
    push(2);
    struct node *popped = NULL;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, look, NULL);
    pthread_create(&threads[1], NULL, take, &popped);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    free(popped);
    return 0;
}
