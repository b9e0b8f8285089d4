// Two tasks read what a third one wrote.
#include <omp.h>
#include <stdlib.h>

int x, y, z;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task depend(out: x)
        x = 1;
        #pragma omp task depend(in: x)
        y = x;
        #pragma omp task depend(in: x)
        z = x;
        #pragma omp task depend(out: x)
        x = 3;
    }
    if (y != 1 || z != 1) abort();
    return 0;
}
