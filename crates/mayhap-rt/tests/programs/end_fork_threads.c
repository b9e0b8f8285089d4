// fork while other threads run: the child has one thread and works, the parent goes on.
// note: child processes are not recorded
// counts: fork=2 join=2
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value, stop;

static void *work(void *arg) {
    for (int done = 0; !done;) {
        pthread_mutex_lock(&lock);
        value++;
        done = stop;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    for (int i = 0; i < 10; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            char *text = malloc(100);
            strcpy(text, "child");
            int ok = strlen(text) == 5;
            free(text);
            _exit(ok ? 7 : 1);
        }
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) abort();
    }
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
