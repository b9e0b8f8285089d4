// vfork, posix_spawn, system and popen in a program with threads.
// counts: fork=1 join=1
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
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

static void expect(pid_t child, int code) {
    int status;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != code) abort();
}

int main(void) {
    pthread_t a;
    pid_t child;
    char line[16];
    pthread_create(&a, 0, work, 0);
    child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)0);
        _exit(1);
    }
    expect(child, 3);
    char *arguments[] = {"sh", "-c", "exit 4", 0};
    if (posix_spawn(&child, "/bin/sh", 0, 0, arguments, environ) != 0) abort();
    expect(child, 4);
    if (WEXITSTATUS(system("exit 5")) != 5) abort();
    FILE *pipe = popen("echo hello", "r");
    if (!fgets(line, sizeof line, pipe) || strcmp(line, "hello\n") != 0) abort();
    pclose(pipe);
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(a, 0);
    return 0;
}
