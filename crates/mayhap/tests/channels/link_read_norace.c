// A thread reads a symbolic link until there is one. How that orders the threads is not modelled.
// doubt: not modelled
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int value;

static void *links(void *arg) {
    value = 7;
    if (symlink("anywhere", "link")) abort();
    return arg;
}

int main(void) {
    pthread_t a;
    unlink("link");
    pthread_create(&a, 0, links, 0);
    char target[64];
    while (readlink("link", target, sizeof target) < 0) usleep(500);
    value++;
    pthread_join(a, 0);
    return value == 8 ? 0 : 1;
}
