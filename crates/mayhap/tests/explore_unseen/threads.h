// Starts threads and waits for their end; `CHECK` ends the program if what it says is wrong.
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <stdlib.h>

#define CHECK(what) do { if (!(what)) abort(); } while (0)
#define LOCK(m) pthread_mutex_lock(&(m))
#define UNLOCK(m) pthread_mutex_unlock(&(m))

typedef void *body(void *);

static void together(int count, body *bodies[]) {
    pthread_t threads[8];
    for (int i = 0; i < count; i++) pthread_create(&threads[i], 0, bodies[i], (void *)(long)i);
    for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
}
#define RUN(...) do { \
        body *bodies[] = {__VA_ARGS__}; \
        together(sizeof bodies / sizeof *bodies, bodies); \
    } while (0)
