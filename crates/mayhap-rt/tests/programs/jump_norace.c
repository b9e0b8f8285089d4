// longjmp over functions that never return.
// counts: fork=1 join=1
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

static jmp_buf back;
static int depth;

__attribute__((noinline)) static void down(int n) {
    depth++;
    if (n == 0) longjmp(back, 1);
    down(n - 1);
    depth--;
}

static void *work(void *arg) {
    for (volatile int i = 0; i < 1000; i++)
        if (setjmp(back) == 0) down(20);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    return depth != 21000;
}
