// Two tasks that only say they read write the same.
// proven: y
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task depend(out: x)
        x = 1;
        #pragma omp task depend(in: x)
        y = x;
        #pragma omp task depend(in: x)
        y = x + 1;
    }
    return 0;
}
