// A file is given its last name before what it stands for is ready.
// proven: value
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char folder[] = "/tmp/nameXXXXXX", early[64], late[64];
int value;

static void *wait_for_name(void *arg) {
    while (access(late, F_OK))
        sched_yield();
    value++;
    return arg;
}

int main(void) {
    if (!mkdtemp(folder)) abort();
    snprintf(early, sizeof early, "%s/early", folder);
    snprintf(late, sizeof late, "%s/late", folder);
    pthread_t a;
    pthread_create(&a, 0, wait_for_name, 0);
    close(open(early, O_CREAT | O_WRONLY, 0600));
    if (rename(early, late)) abort();
    value = 1;
    pthread_join(a, 0);
    unlink(late);
    rmdir(folder);
    return 0;
}
