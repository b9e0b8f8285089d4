// Which line or byte a thread reads depends on what others have read from the same stream or open file: `late` writes without the lock only if
// `early` was there before it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *lines, *characters, *items, *numbers;
static int file;
int shared[5];

static void take(int taken[5]) {
    char line[8] = "", item = 0, byte = 0;
    if (!fgets(line, sizeof line, lines)) abort();
    taken[0] = atoi(line);
    taken[1] = getc(characters) - '0';
    if (fread(&item, 1, 1, items) != 1) abort();
    taken[2] = item - '0';
    if (fscanf(numbers, "%d", &taken[3]) != 1) abort();
    if (read(file, &byte, 1) != 1) abort();
    taken[4] = byte - '0';
}

static void *early(void *arg) {
    int taken[5];
    pthread_mutex_lock(&lock);
    take(taken);
    for (int i = 0; i < 5; i++)
        if (taken[i] == 1) shared[i] = 1;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *late(void *arg) {
    int taken[5];
    pthread_mutex_lock(&lock);
    take(taken);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 5; i++)
        if (taken[i] == 2) shared[i] = 2;
    return arg;
}

static FILE *holding(const char *text) {
    FILE *stream = tmpfile();
    if (!stream || fputs(text, stream) < 0) abort();
    rewind(stream);
    return stream;
}

int main(void) {
    lines = holding("1\n2\n3\n");
    characters = holding("123");
    items = holding("123");
    numbers = holding("1 2 3");
    file = fileno(holding(""));
    if (write(file, "123", 3) != 3 || lseek(file, 0, SEEK_SET) != 0) abort();
    pthread_t one, two;
    pthread_create(&one, 0, early, 0);
    usleep(2000);
    pthread_create(&two, 0, late, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
