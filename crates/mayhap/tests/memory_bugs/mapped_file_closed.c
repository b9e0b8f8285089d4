// kind: use-after-free
// effect: use after free
// bug: a mapping is taken away while another thread reads from it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *view;
static int first;

static void *reader(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    char *mine = view;
#ifdef FIXED
    if (mine) first = mine[0];
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (mine) first = mine[0];
#endif
    return NULL;
}

static void *closer(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    char *old = view;
    view = NULL;
    pthread_mutex_unlock(&lock);
    munmap(old, 4096);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    view = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    view[0] = 5;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, closer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", first);
    return 0;
}
