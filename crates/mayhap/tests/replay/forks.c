// A child process runs first.
#include "tellers.h"

int main(void) {
    pid_t child = fork();
    if (child == 0) {
        both();
        _exit(0);
    }
    waitpid(child, 0, 0);
    both();
    return 0;
}
