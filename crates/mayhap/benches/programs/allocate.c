// Allocation-heavy: lists of small blocks grow and shrink, buffers are reallocated, and some blocks go to the other thread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item { struct item *next; size_t size; char bytes[]; };
static int rounds;
static struct item *handed;
static long total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument) {
    unsigned seed = (unsigned)(long)argument;
    struct item *own = NULL;
    char *text = NULL;
    size_t length = 0;
    for (int i = 0; i < rounds; i++) {
        seed = seed * 1664525 + 1013904223;
        size_t size = 16 + (seed >> 24);
        struct item *item = malloc(sizeof *item + size);
        item->size = size;
        memset(item->bytes, i, size);
        if (seed >> 28 == 0) {
            pthread_mutex_lock(&lock);
            item->next = handed, handed = item;
            pthread_mutex_unlock(&lock);
        } else {
            item->next = own, own = item;
        }
        if (i % 3 == 0 && own) {
            struct item *gone = own;
            own = own->next;
            free(gone);
        }
        if (i % 16 == 0) {
            length = length > 30000 ? 0 : length + 100;
            text = realloc(text, length + 1);
            text[length] = 'x';
        }
        if (i % 64 == 0) {
            pthread_mutex_lock(&lock);
            struct item *taken = handed;
            handed = NULL;
            pthread_mutex_unlock(&lock);
            while (taken) {
                struct item *next = taken->next;
                total += taken->bytes[0] & 0;
                free(taken);
                taken = next;
            }
        }
    }
    while (own) {
        struct item *next = own->next;
        free(own);
        own = next;
    }
    free(text);
    return NULL;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 100000;
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", total);
}
