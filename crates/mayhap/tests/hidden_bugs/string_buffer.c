// kind: atomicity
// bug: the length is read in one critical section and used in the next, while another thread may have cut the text
// expect: length
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char text[] = "mayhap or not";
static int length = 13;
static int start;

static int text_length(void) {
    pthread_mutex_lock(&lock);
    int now = length;
    pthread_mutex_unlock(&lock);
    return now;
}

static void keep_tail(int wanted) {
    pthread_mutex_lock(&lock);
    start = length - wanted;
    pthread_mutex_unlock(&lock);
}

static void *appender(void *unused) {
    (void)unused;
    int now = text_length();
    keep_tail(now < 3 ? now : 3);
    return NULL;
}

static void *cutter(void *unused) {
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&lock);
    length = 0;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, appender, NULL);
    pthread_create(&b, NULL, cutter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(start >= 0);
    printf("%s\n", text + start);
    return 0;
}
