// Parts of variables have the names that the program gives them.
// names: counter queue.head queue.tail queue.items[3] queue.lock grid[3][4] shop.shelves[1].items[2].price
// names: either.number outer.inner_first outer.word flags.first table[5].low next_id::count both.low both.high
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 2

struct item {
    char name[8];
    int price;
    int stock;
};

long counter;
atomic_int updates;
struct {
    pthread_mutex_t lock;
    int head, tail;
    short items[8];
} queue = {PTHREAD_MUTEX_INITIALIZER, 0, 0, {0}};
int grid[5][6];
struct shop {
    long id;
    struct {
        struct item items[4];
        long count;
    } shelves[3];
} shop;
union {
    long number;
    char bytes[8];
} either;
struct {
    struct {
        int inner_first, inner_second;
    };
    union {
        long word;
        double real;
    };
} outer;
struct {
    unsigned first : 8, second : 8, third : 16;
} flags;
typedef struct {
    volatile int low;
    const int *high;
} pair_t;
static pair_t table[8];
struct {
    int low, high;
} both;

static int next_id(void) {
    static int count;
    return ++count;
}

static void *work(void *argument) {
    counter++;
    atomic_fetch_add(&updates, 1);
    pthread_mutex_lock(&queue.lock);
    pthread_mutex_unlock(&queue.lock);
    queue.head++;
    queue.tail++;
    queue.items[3]++;
    grid[3][4]++;
    shop.shelves[1].items[2].price++;
    either.number++;
    outer.inner_first++;
    outer.word++;
    flags.second++;
    table[5].low++;
    next_id();
    both.low++;
    both.high++;
    return argument;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    return 0;
}
