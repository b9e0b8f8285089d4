// kind: heap-overflow
// effect: heap overflow
// bug: two writers of a terminal's buffer each see room for their text and then write both, as in the line discipline of CVE-2014-0196
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROOM = 8 };
static struct { int used; char *text; } buffer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void put(const char *text, int length) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    if (buffer.used + length <= ROOM)
        for (int i = 0; i < length; i++) buffer.text[buffer.used++] = text[i];
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_lock(&lock);
    int fits = buffer.used + length <= ROOM;
    pthread_mutex_unlock(&lock);
    if (!fits) return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < length; i++) buffer.text[buffer.used++] = text[i];
    pthread_mutex_unlock(&lock);
#endif
}

static void *first(void *unused) {
    put("hello", 5);
    return unused;
}

static void *second(void *unused) {
    usleep(100000);
    put("world", 5);
    return unused;
}

int main(void) {
    buffer.text = calloc(1, ROOM);
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%.*s\n", buffer.used, buffer.text);
    free(buffer.text);
    return 0;
}
