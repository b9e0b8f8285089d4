// clean: a descriptor gets the number of the one before, and a lock is initialised where another was destroyed; a semaphore, or a lock
// around both, keeps the users out meanwhile
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t turn;
static pthread_rwlock_t generations = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lock;
static int by_turn, by_lock, sum;

static void *reader(void *unused) {
    (void)unused;
    char byte = 0;
    for (int i = 0; i < 2; i++) {
        sem_wait(&turn);
        if (pread(by_turn, &byte, 1, 0) == 1) sum += byte != 0;
        pthread_mutex_lock(&lock);
        sum++;
        pthread_mutex_unlock(&lock);
        sem_post(&turn);
        pthread_rwlock_rdlock(&generations);
        if (pread(by_lock, &byte, 1, 0) == 1) sum += byte != 0;
        pthread_rwlock_unlock(&generations);
        usleep(1000);
    }
    return NULL;
}

static void *rotator(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        sem_wait(&turn);
        close(by_turn);
        by_turn = open("/proc/self/exe", O_RDONLY);
        pthread_mutex_destroy(&lock);
        pthread_mutex_init(&lock, NULL);
        sem_post(&turn);
        pthread_rwlock_wrlock(&generations);
        close(by_lock);
        by_lock = open("/proc/self/exe", O_RDONLY);
        pthread_rwlock_unlock(&generations);
        usleep(1000);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&turn, 0, 1);
    pthread_mutex_init(&lock, NULL);
    by_turn = open("/proc/self/exe", O_RDONLY);
    by_lock = open("/proc/self/exe", O_RDONLY);
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, rotator, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", sum);
    return 0;
}
