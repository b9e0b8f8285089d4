// What it does depends on where its memory lies.
#include "tellers.h"

int main(void) {
    char *block = malloc(1 << 20);
    // The lowest bits that differ from run to run: some are set in most runs, and in few all are as they were.
    unsigned bits = ((uintptr_t)block >> 12) & 15;
    for (unsigned i = 0; i < bits; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    both();
    return 0;
}
