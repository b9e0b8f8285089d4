// Each task depends on the one before.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task depend(out: x)
        x = 1;
        #pragma omp task depend(inout: x)
        x++;
        #pragma omp task depend(in: x)
        y = x;
    }
    if (y != 2) abort();
    return 0;
}
