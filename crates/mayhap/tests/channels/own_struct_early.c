// The owner of a structure reads a field of it without the lock that the other thread writes it under.
// compiler: clang
// proven: main::state.count
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct state {
    pthread_mutex_t lock;
    int count;
};

static void *work(void *argument) {
    struct state *state = argument;
    pthread_mutex_lock(&state->lock);
    state->count++;
    pthread_mutex_unlock(&state->lock);
    return 0;
}

int main(void) {
    struct state state = {PTHREAD_MUTEX_INITIALIZER, 0};
    pthread_t thread;
    pthread_create(&thread, 0, work, &state);
    usleep(2000);
    pthread_mutex_lock(&state.lock);
    pthread_mutex_unlock(&state.lock);
    int seen = state.count;
    pthread_join(thread, 0);
    printf("%d\n", seen + state.count);
    return 0;
}
