// Two tasks share a local variable of the thread that made them.
// proven: main
#include <omp.h>
#include <stdlib.h>

__attribute__((noinline)) static void set(int *place, int value) {
    *place = value;
}

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        int both = 0;
        #pragma omp task shared(both)
        set(&both, 1);
        #pragma omp task shared(both)
        set(&both, 2);
        #pragma omp taskwait
    }
    return 0;
}
