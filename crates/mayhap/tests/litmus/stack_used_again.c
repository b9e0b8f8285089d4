// race: none
// why: a node lies on the stack of its thread, which waits for readers; another thread's node at the same address is another node
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

struct node {
    int number;
};
static _Atomic(struct node *) shown;
static atomic_int readers, ended;

static void *show(void *number) {
    struct node node = {*(int *)number};
    atomic_store(&shown, &node);
    usleep(50000);
    atomic_store(&shown, NULL);
    while (atomic_load(&readers) != 0) {
    }
    atomic_fetch_add(&ended, 1);
    return NULL;
}

static void *look(void *sum) {
    usleep(130000);
    atomic_fetch_add(&readers, 1);
    struct node *node = atomic_load(&shown);
    if (node) *(int *)sum += node->number;
    atomic_fetch_sub(&readers, 1);
    return NULL;
}

int main(void) {
    pthread_t reader, writer;
    int numbers[2] = {1, 2}, sum = 0;
    pthread_create(&writer, NULL, show, &numbers[0]);
    pthread_detach(writer);
    pthread_create(&reader, NULL, look, &sum);
    usleep(100000);
    pthread_create(&writer, NULL, show, &numbers[1]);
    pthread_detach(writer);
    pthread_join(reader, NULL);
    while (atomic_load(&ended) != 2) {
    }
    return sum > 3;
}
