// The threads of inner regions have a lock.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    omp_set_max_active_levels(2);
    #pragma omp parallel num_threads(2)
    {
        #pragma omp parallel num_threads(2)
        {
            #pragma omp critical
            x++;
        }
    }
    if (x != 4) abort();
    return 0;
}
