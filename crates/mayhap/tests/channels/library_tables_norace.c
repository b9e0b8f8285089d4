// A thread reads data only if the C library's tables or the process's settings say that another thread has published it.
// flags: -D_GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *root;
int in_table, in_tree, in_mask;

static int compare(const void *a, const void *b) { return strcmp(a, b); }

static void *publish(void *arg) {
    in_table = 1;
    in_tree = 2;
    in_mask = 3;
    pthread_mutex_lock(&lock);
    hsearch((ENTRY){.key = "ready", .data = 0}, ENTER);
    tsearch("ready", &root, compare);
    pthread_mutex_unlock(&lock);
    umask(0111);
    return arg;
}

static void *look(void *arg) {
    usleep(100000);
    pthread_mutex_lock(&lock);
    ENTRY *entry = hsearch((ENTRY){.key = "ready", .data = 0}, FIND);
    void *node = tfind("ready", &root, compare);
    pthread_mutex_unlock(&lock);
    mode_t before = umask(0022);
    if (entry) printf("%d\n", in_table);
    if (node) printf("%d\n", in_tree);
    if (before == 0111) printf("%d\n", in_mask);
    return arg;
}

int main(void) {
    hcreate(16);
    umask(0022);
    pthread_t a, b;
    pthread_create(&a, 0, publish, 0);
    pthread_create(&b, 0, look, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
