// Shares of loops, however they are handed out; sums; what must happen in the order of the loop.
#include <stdlib.h>

int cells[64], ordered, last, steps[20], total;
long sum, product = 1;
double mean;

int main(void) {
    #pragma omp parallel for num_threads(3) reduction(+ : sum, mean) reduction(* : product) lastprivate(last)
    for (int i = 1; i <= 10; i++) {
        sum += i;
        mean += i / 10.0;
        product *= i % 3 + 1;
        last = i;
    }
    if (sum != 55 || last != 10) abort();
    #pragma omp parallel num_threads(3)
    {
        #pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 64; i++) cells[i] = i;
        #pragma omp for schedule(guided)
        for (int i = 0; i < 64; i++) cells[63 - i] += 1;
        #pragma omp for schedule(static, 3) nowait
        for (int i = 0; i < 64; i++) cells[i] += 1;
        #pragma omp for schedule(static, 3)
        for (int i = 0; i < 64; i++) cells[i] += 1;
        #pragma omp for schedule(runtime)
        for (unsigned long long i = 0; i < 64; i++) cells[i] += 1;
        #pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < 10; i++) {
            #pragma omp ordered
            {
                if (ordered != i) abort();
                ordered++;
            }
        }
        #pragma omp for ordered(1)
        for (int i = 1; i < 20; i++) {
            #pragma omp ordered depend(sink : i - 1)
            steps[i] = steps[i - 1] + 1;
            #pragma omp ordered depend(source)
        }
    }
    for (int i = 0; i < 64; i++) total += cells[i] - i;
    return total == 4 * 64 && ordered == 10 && steps[19] == 19 ? 0 : 1;
}
