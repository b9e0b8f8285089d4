// kind: hang deadlock
// bug: the semaphore is waited for with the lock held that the posting thread needs first
// expect: items table
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static sem_t items;
static int stock;

static void *supplier(void *p) {
    pthread_mutex_lock(&table);
    stock++;
    pthread_mutex_unlock(&table);
    sem_post(&items);
    return p;
}

int main(void) {
    pthread_t t;
    sem_init(&items, 0, 0);
    pthread_create(&t, 0, supplier, 0);
    usleep(10000);
    pthread_mutex_lock(&table);
    sem_wait(&items);
    stock--;
    pthread_mutex_unlock(&table);
    pthread_join(t, 0);
    return stock;
}
