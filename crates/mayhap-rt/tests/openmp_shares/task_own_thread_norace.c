// Tasks use a place that belongs to the thread that runs them.
#include <omp.h>
#include <stdlib.h>

int places[2];

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        for (int i = 0; i < 6; i++) {
            #pragma omp task
            places[omp_get_thread_num()]++;
        }
    }
    if (places[0] + places[1] != 6) abort();
    return 0;
}
