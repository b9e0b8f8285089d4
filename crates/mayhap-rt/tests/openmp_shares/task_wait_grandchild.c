// Waiting for tasks does not wait for those that they made.
// proven: x
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task
        {
            #pragma omp task
            x = 1;
        }
        #pragma omp taskwait
        x = 2;
    }
    return 0;
}
