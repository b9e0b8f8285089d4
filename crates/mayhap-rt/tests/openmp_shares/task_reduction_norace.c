// Tasks take part in a reduction.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    #pragma omp taskgroup task_reduction(+: x)
    {
        for (int i = 0; i < 4; i++) {
            #pragma omp task in_reduction(+: x)
            x += i;
        }
    }
    if (x != 6) abort();
    return 0;
}
