// kind: double-free
// effect: double free
// bug: the reader closes the socket on end of file, and so does the thread that stops the server; both look at the field first
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct peer { int fd; pthread_mutex_t m; };

static void drop(struct peer *p)
{
#ifdef FIXED
    pthread_mutex_lock(&p->m);
    int fd = p->fd;
    p->fd = -1;
    pthread_mutex_unlock(&p->m);
    if (fd != -1)
        close(fd);
#else
    if (p->fd != -1) {
        close(p->fd);
        p->fd = -1;
    }
#endif
}

static void *reader(void *arg)
{
    usleep(10000);
    drop(arg);
    return NULL;
}
static void *stopper(void *arg)
{
    usleep(60000);
    drop(arg);
    return NULL;
}

int main(void)
{
    int sv[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
    struct peer p = {sv[0], PTHREAD_MUTEX_INITIALIZER};
    pthread_t a, b;
    pthread_create(&a, NULL, reader, &p);
    pthread_create(&b, NULL, stopper, &p);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    close(sv[1]);
    puts("stopped");
    return 0;
}
