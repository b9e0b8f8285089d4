// clean: a function lends its variables to threads that it joins before it returns, again and again at the same place of the stack
#include <pthread.h>
#include <stdio.h>

struct part { const int *from; int count, sum; };

static void *add(void *argument) {
    struct part *part = argument;
    for (int i = 0; i < part->count; i++) part->sum += part->from[i];
    return NULL;
}

__attribute__((noinline)) static int sum(int base) {
    int numbers[6];
    struct part parts[2];
    pthread_t threads[2];
    for (int i = 0; i < 6; i++) numbers[i] = base + i;
    for (int i = 0; i < 2; i++) {
        parts[i] = (struct part){numbers + 3 * i, 3, 0};
        pthread_create(&threads[i], NULL, add, &parts[i]);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return parts[0].sum + parts[1].sum;
}

__attribute__((noinline)) static int other(int base) {
    volatile int cells[40];
    for (int i = 0; i < 40; i++) cells[i] = base;
    return cells[7];
}

int main(void) {
    int total = sum(1);
    total += other(total);
    total += sum(2);
    printf("%d\n", total);
    return 0;
}
