// A lock that spins.
static volatile int word;

void plain_lock(void) {
    while (__sync_lock_test_and_set(&word, 1)) {}
}

void plain_unlock(void) { __sync_lock_release(&word); }
