// clean: requests with their semaphores, mutexes and conditions lie on the stack; the function waits for the worker's last use
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

struct request { int input, output; sem_t done; };
struct order { pthread_mutex_t lock; pthread_cond_t changed; int amount, delivered; };
static sem_t submitted, ordered;
static struct request *next;
static struct order *placed;

static void *worker(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        sem_wait(&submitted);
        struct request *request = next;
        request->output = request->input + 1;
        sem_post(&request->done);
    }
    return NULL;
}

static void *deliverer(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        sem_wait(&ordered);
        struct order *order = placed;
        pthread_mutex_lock(&order->lock);
        order->delivered = order->amount;
        pthread_cond_signal(&order->changed);
        pthread_mutex_unlock(&order->lock);
    }
    return NULL;
}

__attribute__((noinline)) static int submit(int input) {
    struct request request = {.input = input};
    sem_init(&request.done, 0, 0);
    next = &request;
    sem_post(&submitted);
    sem_wait(&request.done);
    return request.output;
}

__attribute__((noinline)) static int buy(int amount) {
    struct order order = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, amount, 0};
    placed = &order;
    sem_post(&ordered);
    pthread_mutex_lock(&order.lock);
    while (!order.delivered) pthread_cond_wait(&order.changed, &order.lock);
    pthread_mutex_unlock(&order.lock);
    return order.delivered;
}

int main(void) {
    sem_init(&submitted, 0, 0);
    sem_init(&ordered, 0, 0);
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, deliverer, NULL);
    int value = submit(1);
    value = submit(value) + buy(3);
    value = submit(value) + buy(4);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", value);
    return 0;
}
