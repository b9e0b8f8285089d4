// Regions within regions, two of them at a time.
#include <omp.h>
#include <stdlib.h>

int inner[2][2], outer[2], total;

int main(void) {
    omp_set_max_active_levels(2);
    #pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        outer[me] = 1;
        for (int round = 0; round < 2; round++) {
            #pragma omp parallel num_threads(2)
            {
                int mine = omp_get_thread_num();
                inner[me][mine] = outer[me] + round;
                #pragma omp barrier
                if (inner[me][1 - mine] != 1 + round) abort();
            }
            #pragma omp atomic
            total += inner[me][0] + inner[me][1];
        }
        #pragma omp barrier
        if (outer[1 - me] != 1) abort();
    }
    return total == 12 ? 0 : 1;
}
