// Which number a thread draws depends on what others have drawn: `late` writes without the lock only if `early` was there before it.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long first, second;
static long first_of_others, second_of_others;
int shared, other;

static void *early(void *arg) {
    pthread_mutex_lock(&lock);
    if (rand() == first) shared = 1;
    if (lrand48() == first_of_others) other = 1;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *late(void *arg) {
    pthread_mutex_lock(&lock);
    long number = random(), another = lrand48();
    pthread_mutex_unlock(&lock);
    if (number == second) shared = 2;
    if (another == second_of_others) other = 2;
    return arg;
}

int main(void) {
    srand(5);
    srand48(5);
    first = rand(), second = rand();
    first_of_others = lrand48(), second_of_others = lrand48();
    srand(5);
    srand48(5);
    pthread_t one, two;
    pthread_create(&one, 0, early, 0);
    usleep(2000);
    pthread_create(&two, 0, late, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
