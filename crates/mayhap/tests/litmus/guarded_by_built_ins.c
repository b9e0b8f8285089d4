// race: none
// why: the reader touches the data only after it saw the bytes that the writer left after writing the data
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char bytes[7];
static int data;

static void *writer(void *unused) {
    data = 2;
    pthread_mutex_lock(&lock);
    __builtin_memset(bytes, 'x', 7);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *reader(void *unused) {
    int is_set;
    usleep(50000);
    pthread_mutex_lock(&lock);
    is_set = memcmp(bytes, "xxxxxxx", 7) == 0;
    pthread_mutex_unlock(&lock);
    if (is_set)
        data++;
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
