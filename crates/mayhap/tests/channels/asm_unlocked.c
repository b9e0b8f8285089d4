// A lock in inline assembly that one of the threads forgets.
// proven: value
#include <pthread.h>
#include <unistd.h>

int word, value;

static void *first(void *arg) {
    int one = 1;
    do {
        one = 1;
        __asm__ volatile("xchgl %0, %1" : "+r"(one), "+m"(word) : : "memory");
    } while (one);
    value++;
    __asm__ volatile("movl $0, %0" : "=m"(word) : : "memory");
    return arg;
}

static void *second(void *arg) {
    usleep(20000);
    value++;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
