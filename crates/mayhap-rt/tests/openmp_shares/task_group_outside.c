// A task made before the group is not waited for.
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
        #pragma omp taskgroup
        {
            #pragma omp task
            y = 1;
        }
        x = 2;
    }
    return 0;
}
