// Two tasks write different variables.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task
        x = 1;
        #pragma omp task
        y = 2;
    }
    if (x + y != 3) abort();
    return 0;
}
