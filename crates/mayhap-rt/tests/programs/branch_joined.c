// What a joined thread returned may decide what comes next.
// race: shared
// level: -O0
// thread: main: join(main.1); br; w.const(other)=1
#include <pthread.h>

long shared, other;

static void *returns(void *arg) {
    return (void *)(shared + 1);
}

static void *reads(void *arg) {
    shared = other;
    return arg;
}

int main(void) {
    pthread_t a, b;
    void *result;
    pthread_create(&a, 0, returns, 0);
    pthread_create(&b, 0, reads, 0);
    pthread_join(a, &result);
    if (result) other = 1;
    pthread_join(b, 0);
    return 0;
}
