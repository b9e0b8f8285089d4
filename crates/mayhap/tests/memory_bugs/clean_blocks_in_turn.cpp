// clean: Blocks follow each other in one line or through inlined functions, and their variables take turns on one place of the stack. Each
// block waits for the thread that uses its variable.
#include <cstdio>
#include <semaphore.h>
#include <thread>

struct Job { int number, result; };

static sem_t asked, done;
static Job *job;
static long total;

static inline void publish(Job *next) { job = next; sem_post(&asked); }
static inline void wait() { sem_wait(&done); }

static void works(int jobs)
{
    for (int i = 0; i < jobs; i++) {
        sem_wait(&asked);
        job->result = 2 * job->number;
        sem_post(&done);
    }
}

static void count(const Job &sum) { total += sum.result; }

static Job asks(int number)
{
    Job own{number, 0};
    publish(&own);
    wait();
    return own;
}

static int blocks(int n)
{
    {
        Job one{n, 0};
        publish(&one);
        wait();
        total += one.result;
    }
    { Job two{n, 0}; publish(&two);
        total += 1;
        wait();
        total += two.result;
    }
    total += 1;
    if (n > 0) {
        Job three{n, 0};
        publish(&three);
        wait();
    } else { Job four{n, 0}; publish(&four); wait(); }
    total += 1;
    count(asks(n));
    total += 1;
    {
        Job five{n, 0}; publish(&five); wait(); }
    { Job six{n, 0}; publish(&six); wait(); } total += 1; { Job seven{n, 0}; publish(&seven);
        total += 1;
        wait(); }
    total += 1;
    count(asks(n + 1));
    total += 1;
    return n;
}

int main()
{
    sem_init(&asked, 0, 0);
    sem_init(&done, 0, 0);
    std::thread thread(works, 16);
    blocks(0);
    blocks(1);
    thread.join();
    std::printf("%ld\n", total);
}
