// Tasks add atomically.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        for (int i = 0; i < 4; i++) {
            #pragma omp task
            {
                #pragma omp atomic
                x++;
            }
        }
    }
    if (x != 4) abort();
    return 0;
}
