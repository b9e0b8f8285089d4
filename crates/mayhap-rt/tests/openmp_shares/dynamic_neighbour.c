// Each turn of a loop reads what the next one writes.
// proven: all
#include <omp.h>
#include <stdlib.h>

int all[9];

int main(void) {
    for (int i = 0; i < 9; i++) all[i] = i;
    #pragma omp parallel for schedule(dynamic) num_threads(2)
    for (int i = 0; i < 8; i++) all[i] = all[i + 1];
    return 0;
}
