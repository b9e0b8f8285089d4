// kind: use-after-free
// effect: use after free
// bug: the arena of a request is destroyed when the answer is sent, while the log thread still reads a string in it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct chunk { struct chunk *next; size_t used; char data[480]; };
struct arena { struct chunk *chunks; };

static void *arena_alloc(struct arena *a, size_t n)
{
    n = (n + 15) & ~(size_t)15;
    if (!a->chunks || a->chunks->used + n > sizeof a->chunks->data) {
        struct chunk *c = malloc(sizeof *c);
        c->next = a->chunks;
        c->used = 0;
        a->chunks = c;
    }
    void *p = a->chunks->data + a->chunks->used;
    a->chunks->used += n;
    return p;
}
static void arena_destroy(struct arena *a)
{
    while (a->chunks) {
        struct chunk *c = a->chunks;
        a->chunks = c->next;
        free(c);
    }
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static const char *pending;
#ifdef FIXED
static int finished;
#endif

static void *logger(void *unused)
{
    pthread_mutex_lock(&m);
    while (!pending)
        pthread_cond_wait(&cv, &m);
    const char *line = pending;
#ifdef FIXED
    char *copy = strdup(line);
    line = copy;
    finished = 1;
    pthread_cond_broadcast(&cv);
#endif
    pthread_mutex_unlock(&m);
    int commas = 0;
    for (const char *p = line; *p; p++)
        commas += *p == ',';
    printf("%d\n", commas);
#ifdef FIXED
    free(copy);
#endif
    return unused;
}

static void *handler(void *unused)
{
    struct arena a = {0};
    char *line = arena_alloc(&a, 64);
    strcpy(line, "GET /, 200, 15 ms");
    pthread_mutex_lock(&m);
    pending = line;
    pthread_cond_broadcast(&cv);
#ifdef FIXED
    while (!finished)
        pthread_cond_wait(&cv, &m);
#endif
    pthread_mutex_unlock(&m);
    usleep(50000);
    arena_destroy(&a);
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, logger, NULL);
    pthread_create(&b, NULL, handler, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
