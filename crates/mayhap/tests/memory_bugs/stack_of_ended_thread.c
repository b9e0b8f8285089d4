// kind: use-after-free
// effect: use after free
// bug: a thread hands out the address of a local variable and ends without waiting for its user
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

struct job { int input, output; };
static sem_t handed, done;
static struct job *current;

static void *owner(void *unused) {
    (void)unused;
    struct job job = {20, 0};
    current = &job;
    sem_post(&handed);
#ifdef FIXED
    sem_wait(&done);
#else
    usleep(30000);
#endif
    return NULL;
}

static void *helper(void *unused) {
    (void)unused;
    sem_wait(&handed);
    current->output = current->input + 1;
    sem_post(&done);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&handed, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&a, NULL, owner, NULL);
    pthread_create(&b, NULL, helper, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
