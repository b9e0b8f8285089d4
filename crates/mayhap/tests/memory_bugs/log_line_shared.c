// kind: use-after-free
// effect: use after free
// bug: a line is handed to the logger and freed before the logger has copied it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *line, copy[32];

static void *logger(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    char *mine = line;
#ifdef FIXED
    if (mine) memcpy(copy, mine, 16);
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (mine) memcpy(copy, mine, 16);
#endif
    return NULL;
}

static void *producer(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    char *old = line;
    line = NULL;
    pthread_mutex_unlock(&lock);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    line = malloc(32);
    strcpy(line, "a line of the log");
    pthread_create(&a, NULL, logger, NULL);
    pthread_create(&b, NULL, producer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%s\n", copy);
    return 0;
}
