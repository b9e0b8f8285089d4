// clean: descriptors are duplicated, handed over through a queue and through a pipe, shut down before they are closed, and closed by whoever is last
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int queue[4], queued;
static int handover[2];
static int connection[2];
static atomic_int users = 2;
static int shared_file;

// Takes a descriptor from the queue and owns it from then on.
static void *queue_user(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (queued == 0) pthread_cond_wait(&filled, &lock);
    int file = queue[--queued];
    pthread_mutex_unlock(&lock);
    if (write(file, "q", 1) != 1) abort();
    close(file);
    return NULL;
}

// Takes the number of a descriptor from a pipe.
static void *pipe_user(void *unused) {
    (void)unused;
    int file = -1;
    if (read(handover[0], &file, sizeof file) != sizeof file) abort();
    if (write(file, "p", 1) != 1) abort();
    close(file);
    return NULL;
}

// Has a duplicate, which others do not close.
static void *duplicate_user(void *argument) {
    int file = *(int *)argument;
    if (write(file, "d", 1) != 1) abort();
    close(file);
    return NULL;
}

// Reads until the connection is shut down.
static void *connection_user(void *unused) {
    (void)unused;
    char buffer[8];
    while (read(connection[0], buffer, sizeof buffer) > 0) {}
    return NULL;
}

// The last user closes.
static void *counted_user(void *unused) {
    (void)unused;
    if (write(shared_file, "c", 1) != 1) abort();
    if (atomic_fetch_sub(&users, 1) == 1) close(shared_file);
    return NULL;
}

int main(void) {
    pthread_t threads[6];
    if (pipe(handover) || socketpair(AF_UNIX, SOCK_STREAM, 0, connection)) return 1;
    int file = open("/dev/null", O_WRONLY), copy = dup(file);
    shared_file = open("/dev/null", O_WRONLY);
    pthread_create(&threads[0], NULL, queue_user, NULL);
    pthread_create(&threads[1], NULL, pipe_user, NULL);
    pthread_create(&threads[2], NULL, duplicate_user, &copy);
    pthread_create(&threads[3], NULL, connection_user, NULL);
    pthread_create(&threads[4], NULL, counted_user, NULL);
    pthread_create(&threads[5], NULL, counted_user, NULL);
    if (write(file, "m", 1) != 1) return 1;
    close(file);
    int owned = open("/dev/null", O_WRONLY);
    if (write(owned, "m", 1) != 1) return 1;
    pthread_mutex_lock(&lock);
    queue[queued++] = owned;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    int given = open("/dev/null", O_WRONLY);
    if (write(given, "m", 1) != 1) return 1;
    if (write(handover[1], &given, sizeof given) != sizeof given) return 1;
    if (write(connection[1], "hello", 5) != 5) return 1;
    shutdown(connection[0], SHUT_RDWR);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    close(connection[0]);
    close(connection[1]);
    return 0;
}
