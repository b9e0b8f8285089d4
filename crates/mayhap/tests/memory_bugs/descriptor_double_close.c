// kind: double-free
// effect: double free
// bug: two threads end a session, and both find it open before one of them says that it is closed
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int session = -1;

static void end_session(void) {
    pthread_mutex_lock(&lock);
    int mine = session;
#ifdef FIXED
    session = -1;
#endif
    pthread_mutex_unlock(&lock);
    if (mine >= 0) {
        close(mine);
#ifndef FIXED
        pthread_mutex_lock(&lock);
        session = -1;
        pthread_mutex_unlock(&lock);
#endif
    }
}

static void *first(void *unused) {
    (void)unused;
    end_session();
    return NULL;
}

static void *second(void *unused) {
    (void)unused;
    usleep(30000);
    end_session();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    session = open("/dev/null", O_WRONLY);
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
