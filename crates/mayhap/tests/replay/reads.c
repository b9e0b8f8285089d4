// What it does depends on what it reads.
#include "tellers.h"

int main(void) {
    char line[16] = "";
    if (!fgets(line, sizeof line, stdin) || line[0] != 'g')
        return 6;
    both();
    return 0;
}
