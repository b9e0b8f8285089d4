// The second task depends on another variable than the one that it uses.
// proven: x
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task depend(out: x)
        x = 1;
        #pragma omp task depend(in: y)
        y = x;
    }
    return 0;
}
