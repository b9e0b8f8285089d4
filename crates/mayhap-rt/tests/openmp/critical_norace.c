// Critical sections with and without a name, atomics, an update that needs a lock.
#include <complex.h>
#include <stdlib.h>

long plain, named, atomic, read_once;
double complex wide;

int main(void) {
    #pragma omp parallel num_threads(3)
    for (int i = 0; i < 5; i++) {
        #pragma omp critical
        plain++;
        #pragma omp critical(other)
        named++;
        #pragma omp atomic
        atomic++;
        long seen;
        #pragma omp atomic read
        seen = atomic;
        if (seen < 1) abort();
        #pragma omp critical
        {
            wide += 1;
            read_once = plain;
        }
    }
    return plain == 15 && named == 15 && atomic == 15 && creal(wide) == 15 ? 0 : 1;
}
