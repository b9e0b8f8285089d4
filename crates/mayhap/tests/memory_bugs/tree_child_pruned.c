// kind: use-after-free
// effect: use after free
// bug: a lookup holds a child that another thread prunes
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node { int key; struct node *left, *right; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *root;
static int found;

static struct node *make(int key) {
    struct node *node = calloc(1, sizeof *node);
    node->key = key;
    return node;
}

static void *lookup(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    struct node *node = root->left;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
#endif
    if (node && node->key == 1) found = 1;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return NULL;
}

static void *prune(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    struct node *gone = root->left;
    root->left = NULL;
    pthread_mutex_unlock(&lock);
    free(gone);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    root = make(2);
    root->left = make(1);
    pthread_create(&a, NULL, lookup, NULL);
    pthread_create(&b, NULL, prune, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", found);
    return 0;
}
