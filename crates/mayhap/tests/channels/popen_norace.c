// A thread waits for the end of the other end of popen.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

FILE *program;
int value;

static void *read_lines(void *arg) {
    char line[64];
    while (fgets(line, sizeof line, program))
        value++;
    return arg;
}

int main(void) {
    value = 1;
    program = popen("echo one; echo two", "r");
    pthread_t a;
    pthread_create(&a, 0, read_lines, 0);
    pthread_join(a, 0);
    pclose(program);
    return value != 3;
}
