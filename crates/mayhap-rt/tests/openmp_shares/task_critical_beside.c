// One of the tasks adds outside of the critical section.
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
            #pragma omp critical
            x++;
        }
        #pragma omp task
        x++;
    }
    return 0;
}
