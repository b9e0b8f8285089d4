// Two tasks write one variable; one thread may run both.
// proven: x
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task
        x = 1;
        #pragma omp task
        x = 2;
    }
    return 0;
}
