// A loop sums up by a reduction.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel for schedule(guided) reduction(+: x) num_threads(2)
    for (int i = 0; i < 8; i++) x += i;
    if (x != 28) abort();
    return 0;
}
