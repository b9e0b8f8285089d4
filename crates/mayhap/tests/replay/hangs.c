// Does not end, whatever the order.
#include "tellers.h"

int main(void) {
    both();
    for (;;)
        pause();
}
