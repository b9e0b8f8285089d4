// The thread that made a task waits for it.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task
        x = 1;
        #pragma omp taskwait
        x++;
    }
    if (x != 2) abort();
    return 0;
}
