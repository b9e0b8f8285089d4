// kind: use-after-free
// effect: use after free
// library: the plugin that has the limits
// bug: a thread reads a variable of a plugin, and the thread that unloads the plugin does not wait for it
#ifdef PLUGIN
struct limits { int most, least; };
struct limits limits = {40, 2};
#else
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

struct limits { int most, least; };
static struct limits *limits;
static sem_t read_all;

static void *checker(void *unused) {
    (void)unused;
    int width = limits->most - limits->least;
    sem_post(&read_all);
    printf("%d\n", width);
    return NULL;
}

int main(void) {
    sem_init(&read_all, 0, 0);
    void *plugin = dlopen(LIBRARY, RTLD_NOW);
    if (!plugin) return 3;
    limits = dlsym(plugin, "limits");
    pthread_t thread;
    pthread_create(&thread, NULL, checker, NULL);
#ifdef FIXED
    sem_wait(&read_all);
#else
    usleep(100000);
#endif
    dlclose(plugin);
    pthread_join(thread, NULL);
    return 0;
}
#endif
