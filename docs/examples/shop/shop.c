/* A little shop with four bugs that its tests never see: a race, a deadlock, a check that is not one step with what it
 * guards, and a total that depends on who comes first. docs/html-report.md shows what mayhap says of it. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct shelf {
    pthread_mutex_t lock;
    int boxes;
};

static struct shelf front = {PTHREAD_MUTEX_INITIALIZER, 4};
static struct shelf back = {PTHREAD_MUTEX_INITIALIZER, 9};

static pthread_mutex_t till_lock = PTHREAD_MUTEX_INITIALIZER;
static int till;
static int discount;
static const char *last_customer;

/* Takes the locks of both shelves in the order of its arguments. */
static void move_box(struct shelf *from, struct shelf *to) {
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->boxes--;
    to->boxes++;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

/* Looks under the lock and takes under the lock, but lets go of it in between. */
static int sell(const char *customer, int price) {
    pthread_mutex_lock(&front.lock);
    int available = front.boxes;
    pthread_mutex_unlock(&front.lock);
    if (available == 0)
        return 0;
    last_customer = customer;
    pthread_mutex_lock(&front.lock);
    front.boxes = available - 1;
    pthread_mutex_unlock(&front.lock);
    pthread_mutex_lock(&till_lock);
    till += price - discount;
    pthread_mutex_unlock(&till_lock);
    return 1;
}

static void restock(void) {
    pthread_mutex_lock(&front.lock);
    front.boxes = 6;
    pthread_mutex_unlock(&front.lock);
}

static void *clerk(void *unused) {
    (void)unused;
    sell("Ada", 30);
    move_box(&back, &front);
    return NULL;
}

static void *manager(void *unused) {
    (void)unused;
    usleep(20000);
    pthread_mutex_lock(&till_lock);
    discount = 5;
    pthread_mutex_unlock(&till_lock);
    last_customer = "nobody";
    restock();
    move_box(&front, &back);
    sell("Grace", 25);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, clerk, NULL);
    pthread_create(&threads[1], NULL, manager, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("till %d, last customer %s\n", till, last_customer);
    return 0;
}
