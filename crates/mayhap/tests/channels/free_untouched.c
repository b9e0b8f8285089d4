// A block that only uninstrumented code has filled is freed while another thread reads it.
// proven: main
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *block;

static void *reads(void *arg) {
    return block[1] == 'q' ? arg : 0;
}

int main(void) {
    block = strdup("some text");
    char *own = block;
    pthread_t a;
    pthread_create(&a, 0, reads, 0);
    usleep(30000);
    free(own);
    pthread_join(a, 0);
    return 0;
}
