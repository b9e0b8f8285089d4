// The tasks of a loop write different elements.
#include <omp.h>
#include <stdlib.h>

int all[8];

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp taskloop grainsize(2)
        for (int i = 0; i < 8; i++) all[i] = i;
    }
    if (all[7] != 7) abort();
    return 0;
}
