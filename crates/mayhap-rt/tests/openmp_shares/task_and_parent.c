// A task reads what the thread that made it writes afterwards.
// proven: x
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task
        y = x;
        x = 2;
    }
    return 0;
}
