// A small bank. It runs, it prints the right numbers, and its tests pass, time after time.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};
static struct account checking = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account savings = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account cash = {PTHREAD_MUTEX_INITIALIZER, 100};

static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static int entries[2];
static int takings;

static sem_t asked, answered;
static int rate;

// Money goes from one account to another: both are locked, as they should be.
static void transfer(struct account *from, struct account *to, int amount) {
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *saver(void *unused) {
    transfer(&checking, &savings, 10);
    return unused;
}

static void *spender(void *unused) {
    transfer(&savings, &checking, 20);
    return unused;
}

// The cash machine first looks whether there is enough, then pays. Each time under the lock.
static int enough(int amount) {
    pthread_mutex_lock(&cash.lock);
    int yes = cash.balance >= amount;
    pthread_mutex_unlock(&cash.lock);
    return yes;
}

static void *cash_machine(void *unused) {
    if (enough(60)) {
        pthread_mutex_lock(&cash.lock);
        cash.balance -= 60;
        assert(cash.balance >= 0);
        pthread_mutex_unlock(&cash.lock);
    }
    return unused;
}

// Closing the account empties it. That is the last thing of the day, by the clock.
static void *closing(void *unused) {
    usleep(5000);
    pthread_mutex_lock(&cash.lock);
    cash.balance = 0;
    pthread_mutex_unlock(&cash.lock);
    return unused;
}

// The teller counts the day's takings and then signs the journal.
static void *teller(void *unused) {
    takings = 240;
    pthread_mutex_lock(&journal);
    entries[0] = 1;
    pthread_mutex_unlock(&journal);
    return unused;
}

// The auditor signs the journal and then reads the takings.
static void *auditor(void *unused) {
    pthread_mutex_lock(&journal);
    entries[1] = 1;
    pthread_mutex_unlock(&journal);
    printf("takings: %d\n", takings);
    return unused;
}

// The clerk looks the rate up when asked. No lock, and none is needed: the semaphores make one wait for the other.
static void *clerk(void *unused) {
    sem_wait(&asked);
    rate = rate + 1;
    sem_post(&answered);
    return unused;
}

int main(void) {
    void *(*work[])(void *) = {saver, spender, cash_machine, closing, teller, auditor, clerk};
    enum { WORKERS = sizeof work / sizeof work[0] };
    pthread_t threads[WORKERS];
    sem_init(&asked, 0, 0);
    sem_init(&answered, 0, 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, work[i], NULL);
    rate = 2;
    sem_post(&asked);
    sem_wait(&answered);
    printf("rate: %d\n", rate);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
