// A flag that is read and written by inline assembly says that the data is there. The reader looks once, and leaves the data alone if it is not.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int data, flag;

static void *work(void *nothing) {
    data = 1;
    __asm__ volatile("movl $1, %0" : "=m"(flag)::"memory");
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    usleep(2000);
    int seen, sum = 0;
    __asm__ volatile("movl %1, %0" : "=r"(seen) : "m"(flag) : "memory");
    if (seen) {
        __asm__ volatile("movl %1, %0" : "=r"(seen) : "m"(data) : "memory");
        sum = data + seen;
    }
    pthread_join(thread, 0);
    printf("%d\n", sum >= 0);
    return 0;
}
