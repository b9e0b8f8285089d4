// Barriers, explicit and at the ends of constructs; the beginning and the end of regions; what one thread hands to the others.
#include <omp.h>
#include <stdlib.h>

int before, result, once, sections[2], turns[8], shared;

int main(void) {
    before = 1;
    for (int round = 0; round < 3; round++) {
        #pragma omp parallel num_threads(3)
        {
            if (before != 1 + round) abort();
            int me = omp_get_thread_num();
            turns[me] = round;
            #pragma omp barrier
            if (turns[(me + 1) % 3] != round) abort();
            #pragma omp barrier
            #pragma omp single
            once = round;
            if (once != round) abort();
            int mine = me;
            #pragma omp single copyprivate(mine)
            mine = 40 + round;
            if (mine != 40 + round) abort();
            #pragma omp sections
            {
                #pragma omp section
                sections[0] = round;
                #pragma omp section
                sections[1] = round;
            }
            if (sections[0] + sections[1] != 2 * round) abort();
            #pragma omp barrier
            #pragma omp master
            shared = round;
            #pragma omp barrier
            if (shared != round) abort();
        }
        before = 2 + round;
        result += turns[0] + turns[1] + turns[2] + shared;
    }
    return result == 12 ? 0 : 1;
}
