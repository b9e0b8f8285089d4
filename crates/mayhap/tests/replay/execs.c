// Another program takes over in the end.
#include "tellers.h"

int main(void) {
    both();
    execl("/bin/echo", "echo", "taken over", (char *)0);
    return 9;
}
