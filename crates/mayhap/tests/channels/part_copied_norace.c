// A thread copies between files, and another waits for what arrives; a third waits for the mode of the file.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int from, to, value, mode;

static void *copies(void *arg) {
    if (write(from, "data", 4) != 4) abort();
    value = 7;
    loff_t in = 0, out = 0;
    if (copy_file_range(from, &in, to, &out, 4, 0) != 4) abort();
    mode = 7;
    if (fchmod(to, 0640)) abort();
    return arg;
}

static void *looks(void *arg) {
    struct stat status;
    while (fstat(to, &status) == 0 && (status.st_mode & 0777) != 0640) usleep(500);
    mode++;
    return arg;
}

int main(void) {
    from = open("from", O_CREAT | O_RDWR | O_TRUNC, 0600);
    to = open("to", O_CREAT | O_RDWR | O_TRUNC, 0600);
    if (fchmod(to, 0600)) abort();
    pthread_t a, b;
    pthread_create(&a, 0, copies, 0);
    pthread_create(&b, 0, looks, 0);
    char data[4];
    while (pread(to, data, 4, 0) < 4) usleep(500);
    value++;
    pthread_join(a, 0);
    pthread_join(b, 0);
    return value == 8 && mode == 8 ? 0 : 1;
}
