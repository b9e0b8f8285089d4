// kind: hang deadlock
// bug: both threads write more than a pipe holds before they read
// expect: pipe
#include <pthread.h>
#include <unistd.h>

enum { ALL = 100000 };
static int there[2], back[2];
static char out[ALL], in[ALL];

static void drain(int from, char *to) {
    for (int got = 0; got < ALL;) {
        int part = read(from, to + got, ALL - got);
        if (part <= 0) return;
        got += part;
    }
}

static void *peer(void *p) {
    static char own[ALL];
    if (write(back[1], own, ALL) != ALL) return 0;
    drain(there[0], own);
    return p;
}

int main(void) {
    pthread_t t;
    if (pipe(there) || pipe(back)) return 2;
    pthread_create(&t, 0, peer, 0);
    if (write(there[1], out, ALL) != ALL) return 3;
    drain(back[0], in);
    pthread_join(t, 0);
    return 0;
}
