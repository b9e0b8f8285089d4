// A text that `fprintf` prints for `%s` is changed by another thread.
// proven: user
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

char user[16] = "someone";

static void *writes(void *arg) {
    user[1] = '0';
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, writes, 0);
    fprintf(stderr, "%d users: %-12s %.3s\n", 1, user, "abc");
    pthread_join(a, 0);
    return 0;
}
