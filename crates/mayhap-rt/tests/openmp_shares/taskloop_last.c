// The tasks of a loop write one variable.
// proven: last
#include <omp.h>
#include <stdlib.h>

int last;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp taskloop grainsize(2)
        for (int i = 0; i < 8; i++) last = i;
    }
    return 0;
}
