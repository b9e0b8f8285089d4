// A thread cancelled wherever it happens to be.
// counts: fork=20 join=20
#include <pthread.h>
#include <stdlib.h>

static volatile long steps[20];

static void *work(void *arg) {
    int old;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    for (volatile long *mine = arg;;) (*mine)++;
}

int main(void) {
    for (int i = 0; i < 20; i++) {
        pthread_t a;
        void *result;
        pthread_create(&a, 0, work, (void *)&steps[i]);
        for (volatile int j = 0; j < 1000; j++) {}
        pthread_cancel(a);
        pthread_join(a, &result);
        if (result != PTHREAD_CANCELED) abort();
    }
    return 0;
}
