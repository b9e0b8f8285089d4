// Fails, whatever the order.
#include "tellers.h"

int main(void) {
    both();
    return 3;
}
