// After exec another program runs.
// note: replaced itself by exec
// status: 3
#include <unistd.h>

int main(void) {
    execl("/bin/sh", "sh", "-c", "exit 3", (char *)0);
    return 1;
}
