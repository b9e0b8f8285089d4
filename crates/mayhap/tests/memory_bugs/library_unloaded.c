// kind: use-after-free
// effect: use after free
// library: the plugin that handles requests
// bug: the plugin is unloaded while a thread may still run its function
#ifdef PLUGIN
static int handled;

int handle(int request) {
    handled += request;
    return handled;
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int (*handle)(int);

static void *worker(void *unused) {
    (void)unused;
    int last = handle(3);
    printf("%d\n", last);
    return NULL;
}

int main(void) {
    void *plugin = dlopen(LIBRARY, RTLD_NOW);
    if (!plugin) return 3;
    *(void **)&handle = dlsym(plugin, "handle");
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
#ifdef FIXED
    pthread_join(thread, NULL);
    dlclose(plugin);
#else
    usleep(100000);
    dlclose(plugin);
    pthread_join(thread, NULL);
#endif
    return 0;
}
#endif
