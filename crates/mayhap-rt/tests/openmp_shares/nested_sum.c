// The threads of inner regions add to one variable.
// proven: x
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    omp_set_max_active_levels(2);
    #pragma omp parallel num_threads(2)
    {
        #pragma omp parallel num_threads(2)
        x++;
    }
    return 0;
}
