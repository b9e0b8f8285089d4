// bug: a list is taken for grown though there was no memory for it
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *list, length;

static void *append(void *p) {
    pthread_mutex_lock(&lock);
    int *grown = realloc(list, (length + 1) * sizeof *list);
#ifdef FIXED
    if (grown) {
        list = grown;
        list[length++] = 1;
    }
#else
    list = grown;
    list[length++] = 1;
#endif
    pthread_mutex_unlock(&lock);
    return p;
}

int main(void) {
    pthread_t a, b;
    list = calloc(1, sizeof *list);
    if (!list) exit(1);
    length = 1;
    if (pthread_create(&a, 0, append, 0) || pthread_create(&b, 0, append, 0)) exit(1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    free(list);
    return 0;
}
