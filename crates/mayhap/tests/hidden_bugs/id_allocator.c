// kind: atomicity
// bug: the next id is read and raised in two critical sections: one id is given out twice
// expect: next_id
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_id = 100;
static int mine[2];

static int allocate(void) {
    pthread_mutex_lock(&lock);
    int id = next_id;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    next_id = id + 1;
    pthread_mutex_unlock(&lock);
    return id;
}

static void *first(void *unused) {
    (void)unused;
    mine[0] = allocate();
    return NULL;
}

static void *second(void *unused) {
    (void)unused;
    usleep(30000);
    mine[1] = allocate();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("ids %d and %d\n", mine[0], mine[1]);
    assert(mine[0] != mine[1]);
    return 0;
}
