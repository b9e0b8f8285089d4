// kind: use-after-free
// effect: use after free
// bug: creating a port enters it in the list and goes on initialising it; deleting it by number frees it meanwhile, as in CVE-2017-15265
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct port { int number, capabilities, users; struct port *next; };
static struct port *ports;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int created, deleted;

static void *creates(void *unused) {
    struct port *port = calloc(1, sizeof *port);
    port->number = 7;
#ifdef FIXED
    port->capabilities = 3;
    created = port->number;
#endif
    pthread_mutex_lock(&lock);
    port->next = ports;
    ports = port;
    pthread_mutex_unlock(&lock);
#ifndef FIXED
    port->capabilities = 3;
    created = port->number;
#endif
    return unused;
}

static void *deletes(void *unused) {
    usleep(100000);
    pthread_mutex_lock(&lock);
    struct port *port = ports;
    if (port) ports = port->next;
    pthread_mutex_unlock(&lock);
    if (port) deleted++;
    free(port);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, creates, NULL);
    pthread_create(&b, NULL, deletes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("created %d, deleted %d\n", created, deleted);
    return 0;
}
