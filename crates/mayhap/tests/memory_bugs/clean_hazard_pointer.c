// clean: a hazard pointer keeps the reader's node from being freed
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct node { int value; };
static struct node *_Atomic current;
static struct node *_Atomic hazard;

static void *reader(void *unused) {
    (void)unused;
    struct node *mine;
    do {
        mine = current;
        hazard = mine;
    } while (mine != current);
    volatile int seen = mine->value;
    (void)seen;
    hazard = NULL;
    return NULL;
}

static void *writer(void *unused) {
    (void)unused;
    usleep(20000);
    struct node *fresh = malloc(sizeof *fresh), *old = current;
    fresh->value = 2;
    current = fresh;
    while (hazard == old) usleep(1000);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    struct node *first = malloc(sizeof *first);
    first->value = 1;
    current = first;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
