// bug: memory is used without a look whether there was any
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *shared;

static void *make(void *p) {
    int *mine = malloc(sizeof *mine);
#ifdef FIXED
    if (!mine) exit(1);
#endif
    *mine = 3;
    pthread_mutex_lock(&lock);
    if (shared) free(mine);
    else shared = mine;
    pthread_mutex_unlock(&lock);
    return p;
}

int main(void) {
    pthread_t a, b;
    if (pthread_create(&a, 0, make, 0) || pthread_create(&b, 0, make, 0)) exit(1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    free(shared);
    return 0;
}
