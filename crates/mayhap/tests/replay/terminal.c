// Reads a line from a terminal, and from nothing else.
#include "tellers.h"

int main(void) {
    char key;
    if (!isatty(0)) {
        fprintf(stderr, "this is no terminal\n");
        return 4;
    }
    if (read(0, &key, 1) != 1)
        return 5;
    both();
    return 0;
}
