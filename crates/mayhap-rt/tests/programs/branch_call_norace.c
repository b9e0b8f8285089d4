// Whether a call of code without hooks returns may be decided by what it is given.
// thread: main.1: rel(lock); br.implicit; w.const(shared)=1
// thread: main.1: br.implicit; w.const(shared)=3; end
#include <pthread.h>
#include <stdlib.h>

int shared;
const char *given;
int (*operation)(int);
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *calls(void *arg) {
    pthread_mutex_lock(&lock);
    const char *text = given;
    pthread_mutex_unlock(&lock);
    int number = atoi(text);
    shared = 1;
    number = operation(number);
    shared = 3;
    return number ? arg : 0;
}

int main(void) {
    pthread_t a;
    pthread_mutex_lock(&lock);
    shared = 2;
    given = "17";
    operation = abs;
    pthread_mutex_unlock(&lock);
    pthread_create(&a, 0, calls, 0);
    pthread_join(a, 0);
    return shared == 4;
}
