// A thread reads data only if a function of the C library, one of hundreds that are rarely used, says that another thread has published it.
// flags: -D_GNU_SOURCE
// doubt: a function of the system's libraries that is not recorded
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include <wchar.h>
#include <argz.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int in_mask, in_vector, in_exponent, in_words;
char *vector;
size_t length;
int exponent;
volatile double eight = 8;
wchar_t words[8];

static void *publish(void *arg) {
    in_mask = in_vector = in_exponent = in_words = 1;
    setlogmask(LOG_MASK(LOG_ERR));
    pthread_mutex_lock(&lock);
    argz_create_sep("ready,steady", ',', &vector, &length);
    frexp(eight, &exponent);
    wcsncat(words, L"ready", 5);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *look(void *arg) {
    usleep(100000);
    if (setlogmask(0) == LOG_MASK(LOG_ERR)) printf("%d\n", in_mask);
    pthread_mutex_lock(&lock);
    if (argz_count(vector, length) == 2) printf("%d\n", in_vector);
    if (exponent == 4) printf("%d\n", in_exponent);
    if (wmemchr(words, L'y', 8)) printf("%d\n", in_words);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, publish, 0);
    pthread_create(&threads[1], 0, look, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
