// Two sections write one variable.
// proven: x
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel sections num_threads(2)
    {
        #pragma omp section
        x = 1;
        #pragma omp section
        x = 2;
    }
    return 0;
}
