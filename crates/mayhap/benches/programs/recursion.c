// Deep recursion: each thread builds a degenerate tree, walks it some thousand calls deep, and counts by naive recursion.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node { struct node *left, *right; int key; };
static long total;
static int rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static long walk(const struct node *node) { return node ? walk(node->left) + node->key + walk(node->right) : 0; }
__attribute__((noinline)) static int count(int n) { return n < 2 ? n : count(n - 1) + count(n - 2); }

static void *work(void *argument) {
    (void)argument;
    enum { NODES = 4000 };
    struct node *nodes = calloc(NODES, sizeof *nodes);
    for (int i = 0; i < NODES; i++) {
        nodes[i].key = i;
        if (i + 1 < NODES)
            *(i % 2 ? &nodes[i].left : &nodes[i].right) = &nodes[i + 1];
    }
    for (int i = 0; i < rounds; i++) {
        long sum = walk(nodes) + count(16);
        pthread_mutex_lock(&lock);
        total += sum;
        pthread_mutex_unlock(&lock);
    }
    free(nodes);
    return NULL;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 200;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", total);
}
