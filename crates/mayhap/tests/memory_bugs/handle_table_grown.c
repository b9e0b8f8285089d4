// kind: use-after-free
// effect: use after free
// bug: a thread keeps a pointer into a table of handles; another one opens a handle, for which the table is reallocated
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct handle { long position, references; };
static struct handle *handles;
static int count = 2;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *seeker(void *unused) {
    pthread_mutex_lock(&lock);
    struct handle *mine = &handles[1];
#ifndef FIXED
    pthread_mutex_unlock(&lock);
#endif
    mine->position += 512;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

static void *opener(void *unused) {
    usleep(100000);
    pthread_mutex_lock(&lock);
    handles = realloc(handles, ++count * sizeof *handles);
    handles[count - 1] = (struct handle){0, 1};
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    handles = calloc(count, sizeof *handles);
    pthread_t a, b;
    pthread_create(&a, NULL, seeker, NULL);
    pthread_create(&b, NULL, opener, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d handles, %ld\n", count, handles[1].position);
    free(handles);
    return 0;
}
