// A pseudoterminal's two ends.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

int ours, theirs, value;

static void *answer(void *arg) {
    char bytes[16];
    if (read(theirs, bytes, sizeof bytes) <= 0) abort();
    value++;
    if (write(theirs, "done", 4) != 4) abort();
    return arg;
}

int main(void) {
    ours = posix_openpt(O_RDWR | O_NOCTTY);
    if (ours < 0 || grantpt(ours) || unlockpt(ours)) return 0;
    theirs = open(ptsname(ours), O_RDWR | O_NOCTTY);
    struct termios raw;
    tcgetattr(theirs, &raw);
    cfmakeraw(&raw);
    tcsetattr(theirs, TCSANOW, &raw);
    pthread_t a;
    pthread_create(&a, 0, answer, 0);
    value = 1;
    if (write(ours, "go", 2) != 2) abort();
    char bytes[16];
    if (read(ours, bytes, sizeof bytes) <= 0) abort();
    value++;
    pthread_join(a, 0);
    return value != 3;
}
