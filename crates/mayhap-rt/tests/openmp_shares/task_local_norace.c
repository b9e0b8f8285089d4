// Tasks use variables of their own on the stack.
#include <omp.h>
#include <stdlib.h>

int x;

__attribute__((noinline)) static void fill(int *own, int with) {
    for (int i = 0; i < 8; i++) own[i] = with;
}

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        for (int i = 0; i < 6; i++) {
            #pragma omp task
            {
                int own[8];
                fill(own, i);
            }
        }
    }
    return 0;
}
