// The exit code is the program's own.
// status: 42
#include <stdlib.h>

int main(void) {
    exit(42);
}
