// kind: use-after-free
// effect: use after free
// library: the plugin that wants to be called
// bug: a thread takes the callback out of the table under the lock but calls it outside, and the plugin may be unloaded by then
#ifdef PLUGIN
static int calls[4];

void notice(int event) {
    calls[event & 3]++;
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*callback)(int);

static void *events(void *unused) {
    (void)unused;
    for (int event = 0; event < 3; event++) {
        pthread_mutex_lock(&lock);
        void (*wanted)(int) = callback;
#ifdef FIXED
        if (wanted) wanted(event);
        pthread_mutex_unlock(&lock);
#else
        pthread_mutex_unlock(&lock);
        if (wanted) wanted(event);
#endif
    }
    return NULL;
}

int main(void) {
    void *plugin = dlopen(LIBRARY, RTLD_NOW);
    if (!plugin) return 3;
    *(void **)&callback = dlsym(plugin, "notice");
    pthread_t thread;
    pthread_create(&thread, NULL, events, NULL);
    usleep(100000);
    pthread_mutex_lock(&lock);
    callback = NULL;
    pthread_mutex_unlock(&lock);
    dlclose(plugin);
    pthread_join(thread, NULL);
    return 0;
}
#endif
