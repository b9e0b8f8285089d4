// kind: use-after-free
// effect: use after free
// bug: a name is copied after the lock was given up; another thread may have replaced and freed it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *name;

static void *reader(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
#ifdef FIXED
    char *copy = strdup(name);
    pthread_mutex_unlock(&lock);
#else
    char *mine = name;
    pthread_mutex_unlock(&lock);
    char *copy = strdup(mine);
#endif
    printf("%d\n", copy != NULL);
    free(copy);
    return NULL;
}

static void *renamer(void *unused) {
    (void)unused;
    usleep(30000);
    char *better = strdup("another name");
    pthread_mutex_lock(&lock);
    char *old = name;
    name = better;
    pthread_mutex_unlock(&lock);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    name = strndup("a name and more", 6);
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, renamer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free(name);
    return 0;
}
