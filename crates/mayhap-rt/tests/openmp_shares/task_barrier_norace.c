// A barrier waits for all tasks.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    {
        #pragma omp single nowait
        {
            #pragma omp task
            x = 1;
        }
        #pragma omp barrier
        #pragma omp single
        x++;
    }
    if (x != 2) abort();
    return 0;
}
