// Crashes, whatever the order.
#include "tellers.h"

int main(void) {
    both();
    abort();
}
