// N threads each give their inode a block of a disk, if it has none; inodes and blocks have locks.
#include "peers.h"
enum { BLOCKS = 26, INODES = 32 };
static atomic_int inode[INODES], busy[BLOCKS];
static pthread_mutex_t of_inode[INODES], of_block[BLOCKS];
static void *give(void *p) {
    int i = (int)((long)p % INODES);
    pthread_mutex_lock(&of_inode[i]);
    if (atomic_load(&inode[i]) == 0) {
        int b = i * 2 % BLOCKS;
        for (;;) {
            pthread_mutex_lock(&of_block[b]);
            if (!atomic_load(&busy[b])) {
                atomic_store(&busy[b], 1);
                atomic_store(&inode[i], b + 1);
                pthread_mutex_unlock(&of_block[b]);
                break;
            }
            pthread_mutex_unlock(&of_block[b]);
            b = (b + 1) % BLOCKS;
        }
    }
    pthread_mutex_unlock(&of_inode[i]);
    return p;
}
int main(void) {
    for (int i = 0; i < INODES; i++) pthread_mutex_init(&of_inode[i], 0);
    for (int i = 0; i < BLOCKS; i++) pthread_mutex_init(&of_block[i], 0);
    for (long i = 0; i < N; i++) start(give, i);
    join_all();
}
