// proven: result
// A critical section happens to order the two accesses to the result in the recorded run, and does not in others.
#include <omp.h>

int result, turns;

int main(void) {
    #pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
        result = 1;
        #pragma omp critical
        turns++;
    } else {
        #pragma omp critical
        turns++;
        result = 2;
    }
    return result == 0;
}
