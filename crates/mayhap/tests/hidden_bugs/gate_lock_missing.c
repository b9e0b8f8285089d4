// kind: deadlock
// bug: two paths take the disks in opposite order; one of them forgot the gate that makes it safe
// expect: disk_a disk_b
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t disk_a = PTHREAD_MUTEX_INITIALIZER, disk_b = PTHREAD_MUTEX_INITIALIZER;
static int copied, restored;

static void *backup(void *unused) {
    (void)unused;
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&disk_a);
    pthread_mutex_lock(&disk_b);
    copied++;
    pthread_mutex_unlock(&disk_b);
    pthread_mutex_unlock(&disk_a);
    pthread_mutex_unlock(&gate);
    return NULL;
}

static void *restore(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&disk_b);
    pthread_mutex_lock(&disk_a);
    restored++;
    pthread_mutex_unlock(&disk_a);
    pthread_mutex_unlock(&disk_b);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, backup, NULL);
    pthread_create(&b, NULL, restore, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("copied %d, restored %d\n", copied, restored);
    return 0;
}
