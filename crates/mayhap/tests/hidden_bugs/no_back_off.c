// kind: deadlock
// bug: the second lock is waited for where it should be tried for
// expect: left right
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static int moved[2], gave_up[2];

static void move_item(int me, pthread_mutex_t *from, pthread_mutex_t *to) {
    pthread_mutex_lock(from);
    pthread_mutex_lock(to);
    moved[me]++;
    pthread_mutex_unlock(to);
    pthread_mutex_unlock(from);
}

static void *rightwards(void *unused) {
    (void)unused;
    move_item(0, &left, &right);
    return NULL;
}

static void *leftwards(void *unused) {
    (void)unused;
    usleep(30000);
    move_item(1, &right, &left);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, rightwards, NULL);
    pthread_create(&b, NULL, leftwards, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d moved, %d gave up\n", moved[0] + moved[1], gave_up[0] + gave_up[1]);
    return 0;
}
