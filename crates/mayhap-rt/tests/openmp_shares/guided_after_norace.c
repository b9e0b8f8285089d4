// A loop without a barrier at its end, another one that uses what only it changed, and a barrier between them.
#include <omp.h>
#include <stdlib.h>

int all[40], sum;

int main(void) {
    #pragma omp parallel num_threads(2)
    {
        #pragma omp for schedule(guided, 5) nowait
        for (int i = 0; i < 40; i++) all[i] = i;
        #pragma omp barrier
        #pragma omp for schedule(guided, 5) reduction(+: sum)
        for (int i = 0; i < 40; i++) sum += all[39 - i];
    }
    if (sum != 780) abort();
    return 0;
}
