// kind: null-dereference
// effect: null dereference
// bug: a thread uses a table that its creator sets only after it has started the thread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table { int entries; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table memory, *table;

static void *user(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    table->entries++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
#ifdef FIXED
    table = &memory;
    pthread_create(&thread, NULL, user, NULL);
#else
    pthread_create(&thread, NULL, user, NULL);
    pthread_mutex_lock(&lock);
    table = &memory;
    pthread_mutex_unlock(&lock);
#endif
    pthread_join(thread, NULL);
    return 0;
}
