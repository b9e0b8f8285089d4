// Two sections write different variables.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel sections num_threads(2)
    {
        #pragma omp section
        x = 1;
        #pragma omp section
        y = 2;
    }
    if (x + y != 3) abort();
    return 0;
}
