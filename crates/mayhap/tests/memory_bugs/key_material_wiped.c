// kind: use-after-free
// effect: use after free
// bug: a session key is wiped and freed while an encryption with it goes on
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct key { unsigned char bytes[16]; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct key *key;
static int digest;

static void *encrypt(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    struct key *mine = key;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
#endif
    int sum = 0;
    for (int i = 0; mine && i < 16; i++) sum += mine->bytes[i];
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    __atomic_store_n(&digest, sum, __ATOMIC_RELAXED);
    return NULL;
}

static void *renegotiate(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    struct key *old = key;
    key = NULL;
    pthread_mutex_unlock(&lock);
    free(old);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    key = malloc(sizeof *key);
    memset(key, 7, sizeof *key);
    pthread_create(&a, NULL, encrypt, NULL);
    pthread_create(&b, NULL, renegotiate, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
