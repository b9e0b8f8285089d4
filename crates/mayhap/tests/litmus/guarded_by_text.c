// race: none
// why: the reader touches the data only after it saw the text that the writer left after writing the data
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char word[8];
static int data;

static void *writer(void *unused) {
    data = 2;
    pthread_mutex_lock(&lock);
    strcpy(word, "go");
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *reader(void *unused) {
    char mine[8];
    usleep(50000);
    pthread_mutex_lock(&lock);
    memcpy(mine, word, 8);
    pthread_mutex_unlock(&lock);
    if (strcmp(mine, "go") == 0)
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
