// Races on what has no symbol: variables on stacks, a member of a block, elements of blocks. Each function races on one of them.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

struct stats {
    int count;
    int errors[4];
};

typedef struct Session {
    int id;
    int refs;
    struct stats stats;
} Session;

typedef void *Start(void *);

static void both(Start *start, void *argument, const char *name) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, start, argument);
    pthread_setname_np(threads[0], name);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void *count(void *argument) {
    struct stats *stats = argument;
    stats->errors[2]++;
    return NULL;
}

static void of_a_function(void) {
    struct stats local = {0};
    both(count, &local, "counter");
}

static void *use(void *argument) {
    Session *session = argument;
    session->stats.errors[1]++;
    return NULL;
}

static void of_a_block(void) {
    Session *session = calloc(1, sizeof *session);
    both(use, session, "user");
    free(session);
}

static void *fill(void *argument) {
    Session *all = argument;
    all[2].refs++;
    return NULL;
}

static void of_an_array(void) {
    Session *all = calloc(4, sizeof *all);
    both(fill, all, "filler");
    free(all);
}

static void *inner(void *argument) {
    (void)argument;
    int own = 0;
    pthread_t thread;
    int *shared = &own;
    extern void *touch(void *);
    pthread_create(&thread, NULL, touch, shared);
    own++;
    pthread_join(thread, NULL);
    return NULL;
}

void *touch(void *argument) {
    ++*(int *)argument;
    return NULL;
}

int main(void) {
    int total = 0;
    both(touch, &total, "toucher");
    of_a_function();
    of_a_block();
    of_an_array();
    pthread_t thread;
    pthread_create(&thread, NULL, inner, NULL);
    pthread_join(thread, NULL);
    return total < 0;
}
