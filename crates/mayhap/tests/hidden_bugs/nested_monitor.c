// kind: deadlock
// bug: the outer monitor is entered again through the inner one, in the other order
// expect: outer inner
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int level, reports;

static void raise_level(void) {
    pthread_mutex_lock(&inner);
    level = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&inner);
}

static void *control(void *unused) {
    (void)unused;
    pthread_mutex_lock(&outer);
    raise_level();
    pthread_mutex_unlock(&outer);
    return NULL;
}

static void *display(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&inner);
    while (level == 0) pthread_cond_wait(&changed, &inner);
    pthread_mutex_lock(&outer);
    reports++;
    pthread_mutex_unlock(&outer);
    pthread_mutex_unlock(&inner);
    return NULL;
}

static void *refresh(void *unused) {
    (void)unused;
    usleep(60000);
    pthread_mutex_lock(&outer);
    raise_level();
    pthread_mutex_unlock(&outer);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, control, NULL);
    pthread_create(&threads[1], NULL, display, NULL);
    pthread_create(&threads[2], NULL, refresh, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("level %d, %d reports\n", level, reports);
    return 0;
}
