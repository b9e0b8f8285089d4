// A task that is not put off runs before the thread goes on.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task if(0)
        x = 1;
        x++;
    }
    if (x != 2) abort();
    return 0;
}
