// clean: Two branches end in the same statements, which wait for the thread that uses a variable of one of them. Compilers like to
// merge them.
#include <pthread.h>
#include <stdio.h>

static int total, rounds;

static void *adds(void *where)
{
    *(int *)where += 1;
    return where;
}

static int round_of(int n, pthread_t thread, int *sum)
{
    void *got = NULL;
    if (n % 2) {
        int mine[4] = {n, n, n, n};
        pthread_create(&thread, NULL, adds, mine);
        total += 1;
        rounds += 1;
        pthread_join(thread, &got);
        rounds += 2;
    } else {
        pthread_create(&thread, NULL, adds, sum);
        total += 1;
        rounds += 1;
        pthread_join(thread, &got);
        rounds += 2;
    }
    total += 1;
    while (n > 4) {
        int other[4] = {n, n, n, n};
        pthread_create(&thread, NULL, adds, other);
        pthread_join(thread, &got);
        n -= other[1];
        total += 1;
    }
    total += 1;
    return total;
}

int main(void)
{
    pthread_t thread = pthread_self();
    int sum = 0;
    for (int i = 1; i <= 6; i++)
        round_of(i, thread, &sum);
    printf("%d %d %d\n", total, rounds, sum);
    return 0;
}
