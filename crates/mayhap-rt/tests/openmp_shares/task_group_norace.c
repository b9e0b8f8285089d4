// A group waits for its tasks and those that they made.
#include <omp.h>
#include <stdlib.h>

int x, y;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp taskgroup
        {
            #pragma omp task
            {
                #pragma omp task
                x = 1;
            }
        }
        x++;
    }
    if (x != 2) abort();
    return 0;
}
