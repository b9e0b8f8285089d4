// kind: null-dereference
// effect: null dereference
// bug: a pointer is tested under the lock and read again after another thread may have cleared it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session { int user; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session memory, *session = &memory;
static int user;

static void *reader(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int there = session != NULL;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
#endif
    if (there) user = session->user;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *logout(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    session = NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, logout, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", user);
    return 0;
}
