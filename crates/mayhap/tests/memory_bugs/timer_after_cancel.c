// kind: use-after-free
// effect: use after free
// bug: a timer fires into a session that its cancellation has freed
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session { int ticks; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *session;
static int armed = 1;

static void *timer(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int fire = armed;
    struct session *mine = session;
#ifdef FIXED
    if (fire) mine->ticks++;
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (fire) mine->ticks++;
#endif
    return NULL;
}

static void *cancel(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    armed = 0;
    pthread_mutex_unlock(&lock);
    free(session);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    session = calloc(1, sizeof *session);
    pthread_create(&a, NULL, timer, NULL);
    pthread_create(&b, NULL, cancel, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
