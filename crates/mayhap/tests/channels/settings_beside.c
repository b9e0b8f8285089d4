// proven: beside
// A thread that finds a setting made comes after who made it, but only then; one that does not look at it comes any time.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int data, beside;

static void *writer(void *none) {
    data = 1;
    if (chdir("/")) abort();
    beside = 1;
    return none;
}

static void *reader(void *none) {
    char name[4096];
    while (getcwd(name, sizeof name) && name[1]) usleep(300);
    data++;
    usleep(2000);
    beside++;
    return none;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%d %d\n", data, beside);
}
