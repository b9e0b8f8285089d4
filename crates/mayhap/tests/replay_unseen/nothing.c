// A lock that is none: the race is real.
static volatile int word;

void plain_lock(void) { word = 1; }

void plain_unlock(void) { word = 0; }
