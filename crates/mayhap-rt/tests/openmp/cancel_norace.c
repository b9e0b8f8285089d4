// A loop that is cancelled: who cancels comes before those who leave because of it.
#include <stdlib.h>

int found = -1, cells[400];

int main(void) {
    for (int i = 0; i < 400; i++) cells[i] = i;
    #pragma omp parallel num_threads(3)
    {
        #pragma omp for
        for (int i = 0; i < 400; i++) {
            if (cells[i] == 120) {
                #pragma omp critical
                found = i;
                #pragma omp cancel for
            }
            #pragma omp cancellation point for
        }
    }
    return found == 120 ? 0 : 1;
}
