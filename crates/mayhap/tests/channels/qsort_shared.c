// One thread sorts a table while another one replaces an entry.
// proven: table
#include <pthread.h>
#include <stdlib.h>

int table[4] = {4, 2, 3, 1};

static int by_value(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static void *replaces(void *arg) {
    table[2] = 7;
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, replaces, 0);
    qsort(table, 4, sizeof *table, by_value);
    pthread_join(a, 0);
    return 0;
}
