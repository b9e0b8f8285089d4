// An address in a block is the block and the distance from its start, so that memory that is used again is told apart.
// level: -O0
// thread: main.1: w(head)=&1+0
// thread: main.1: w(head)=&2+8
#include <pthread.h>
#include <stdlib.h>

long *head;

static void *pushes(void *arg) {
    long *first = malloc(16);
    head = first;
    free(first);
    long *second = malloc(16);
    head = second + 1;
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, pushes, 0);
    pthread_join(a, 0);
    int any = head != 0;
    return any > 1;
}
