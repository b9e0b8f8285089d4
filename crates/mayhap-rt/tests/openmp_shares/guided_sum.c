// The turns of a loop add to one variable.
// proven: x
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel for schedule(guided) num_threads(2)
    for (int i = 0; i < 8; i++) x += i;
    return 0;
}
