// race: name[0]
// why: both threads copy a constant number of bytes into the same array
#include <pthread.h>
#include <string.h>

static char name[8];

static void *first(void *unused) {
    memcpy(name, "one", 3);
    return unused;
}

static void *second(void *unused) {
    strcpy(name, "two");
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return name[0] == 'x';
}
