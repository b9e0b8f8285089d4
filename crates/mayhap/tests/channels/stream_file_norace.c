// Lines go through a file that one stream writes and another one reads.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char path[] = "/tmp/linesXXXXXX";
int value;

static void *read_line(void *arg) {
    FILE *in = fopen(path, "r");
    char line[32];
    while (!fgets(line, sizeof line, in)) {
        clearerr(in);
        sched_yield();
    }
    fclose(in);
    value++;
    return arg;
}

int main(void) {
    close(mkstemp(path));
    pthread_t a;
    pthread_create(&a, 0, read_line, 0);
    FILE *out = fopen(path, "a");
    value = 1;
    fprintf(out, "line %d\n", value);
    fclose(out);
    pthread_join(a, 0);
    unlink(path);
    return value != 2;
}
