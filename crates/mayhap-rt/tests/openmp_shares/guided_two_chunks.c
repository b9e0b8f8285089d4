// Two chunks of a loop, each of which counts once.
// proven: x
#include <omp.h>
#include <stdlib.h>

int x, all[8];

int main(void) {
    #pragma omp parallel for schedule(guided, 4) num_threads(2)
    for (int i = 0; i < 8; i++) {
        all[i] = i;
        if (i % 4 == 0) x++;
    }
    return 0;
}
