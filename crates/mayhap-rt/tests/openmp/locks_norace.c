// The library's own locks, simple and nested, taken and tried.
#include <omp.h>

omp_lock_t simple;
omp_nest_lock_t nested;
int counter, deep;

int main(void) {
    omp_init_lock(&simple);
    omp_init_nest_lock(&nested);
    #pragma omp parallel num_threads(3)
    for (int i = 0; i < 4; i++) {
        omp_set_lock(&simple);
        counter++;
        omp_unset_lock(&simple);
        if (omp_test_lock(&simple)) {
            counter += 0;
            omp_unset_lock(&simple);
        }
        omp_set_nest_lock(&nested);
        if (omp_test_nest_lock(&nested) == 2) {
            deep++;
            omp_unset_nest_lock(&nested);
        }
        omp_unset_nest_lock(&nested);
    }
    omp_destroy_lock(&simple);
    omp_destroy_nest_lock(&nested);
    return counter == 12 && deep == 12 ? 0 : 1;
}
