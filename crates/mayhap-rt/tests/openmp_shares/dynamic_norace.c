// Each turn of a loop writes its own element.
#include <omp.h>
#include <stdlib.h>

int all[8];

int main(void) {
    #pragma omp parallel for schedule(dynamic) num_threads(2)
    for (int i = 0; i < 8; i++) all[i] = i;
    if (all[7] != 7) abort();
    return 0;
}
