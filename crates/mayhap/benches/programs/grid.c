// Memory-heavy, shared: threads relax one grid in place, a barrier between rounds; borders of the parts are shared.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, WIDTH = 256, HEIGHT = 256 };
static int rounds;
static int grid[2][HEIGHT][WIDTH];
static pthread_barrier_t barrier;

static void *work(void *argument) {
    long me = (long)argument;
    int from = 1 + me * (HEIGHT - 2) / THREADS, to = 1 + (me + 1) * (HEIGHT - 2) / THREADS;
    for (int round = 0; round < rounds; round++) {
        int now = round % 2;
        for (int y = from; y < to; y++)
            for (int x = 1; x < WIDTH - 1; x++)
                grid[!now][y][x] = (grid[now][y - 1][x] + grid[now][y + 1][x] + grid[now][y][x - 1] + grid[now][y][x + 1]) / 4;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int count, char **arguments) {
    rounds = count > 1 ? atoi(arguments[1]) : 100;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            grid[0][y][x] = grid[1][y][x] = x * y;
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    long sum = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            sum += grid[0][y][x];
    printf("%ld\n", sum);
}
