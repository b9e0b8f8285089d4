// deadlock: first second
// Two locks, taken in either order.
#include <omp.h>

omp_lock_t first, second;
int both;

int main(void) {
    omp_init_lock(&first);
    omp_init_lock(&second);
    #pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            omp_set_lock(&first);
            omp_set_lock(&second);
            both++;
            omp_unset_lock(&second);
            omp_unset_lock(&first);
        }
        if (omp_get_thread_num() == 1) {
            omp_set_lock(&second);
            omp_set_lock(&first);
            both++;
            omp_unset_lock(&first);
            omp_unset_lock(&second);
        }
    }
    return both == 2 ? 0 : 1;
}
