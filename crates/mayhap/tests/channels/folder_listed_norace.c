// A thread lists a folder until it finds the file that another one has made.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char folder[] = "/tmp/listXXXXXX", path[64];
int value;

static void *wait_for_file(void *arg) {
    for (int found = 0; !found; sched_yield()) {
        DIR *open = opendir(folder);
        for (struct dirent *entry; (entry = readdir(open));)
            found |= !strcmp(entry->d_name, "file");
        closedir(open);
    }
    value++;
    return arg;
}

int main(void) {
    if (!mkdtemp(folder)) abort();
    snprintf(path, sizeof path, "%s/file", folder);
    pthread_t a;
    pthread_create(&a, 0, wait_for_file, 0);
    value = 1;
    close(open(path, O_CREAT | O_WRONLY, 0600));
    pthread_join(a, 0);
    unlink(path);
    rmdir(folder);
    return value != 2;
}
