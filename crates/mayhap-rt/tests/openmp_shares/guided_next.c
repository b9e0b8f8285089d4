// The last turn of a chunk writes what the first turn of the next one reads.
// proven: all
#include <omp.h>
#include <stdlib.h>

int all[20];

int main(void) {
    #pragma omp parallel for schedule(guided, 10) num_threads(2)
    for (int i = 0; i < 19; i++) all[i + 1] = all[i] + 1;
    return 0;
}
