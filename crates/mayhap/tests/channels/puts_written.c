// One thread prints a line that another one changes.
// proven: line
#include <pthread.h>
#include <stdio.h>
#include <string.h>

char line[32] = "nothing yet";

static void *writes(void *arg) {
    line[0] = 'N';
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, writes, 0);
    puts(line);
    pthread_join(a, 0);
    return 0;
}
