// kind: use-after-free
// effect: use after free
// library: yes
// findings: 1
// bug: a codec is unloaded when no stream is open, but a decoder thread may be between taking the function and calling it
#ifdef PLUGIN
static int frames;
int decode(int n)
{
    for (int i = 0; i < n; i++)
        frames += i;
    return frames;
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *handle;
static int (*decode)(int);
static int users;

static void *decoder(void *unused)
{
    pthread_mutex_lock(&m);
    int (*f)(int) = decode;
#ifdef FIXED
    if (f)
        users++;
#endif
    pthread_mutex_unlock(&m);
    if (!f)
        return unused;
    printf("%d\n", f(4));
#ifdef FIXED
    pthread_mutex_lock(&m);
    users--;
    pthread_mutex_unlock(&m);
#endif
    return unused;
}

static void *unloader(void *unused)
{
    usleep(50000);
    pthread_mutex_lock(&m);
    if (users == 0) {
        decode = NULL;
        dlclose(handle);
        handle = NULL;
    }
    pthread_mutex_unlock(&m);
    return unused;
}

int main(void)
{
    handle = dlopen(LIBRARY, RTLD_NOW);
    if (!handle)
        return 2;
    decode = (int (*)(int))dlsym(handle, "decode");
    pthread_t a, b;
    pthread_create(&a, NULL, decoder, NULL);
    pthread_create(&b, NULL, unloader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
#endif
