// Tasks: what they are given, who waits for them, on what they depend, loops of them, sums over them.
#include <stdlib.h>
#include <string.h>

struct text {
    char words[40];
};

int x, y, z, shares[40], grouped, sums, lengths, created;

static int fibonacci(int n) {
    int a, b;
    if (n < 2) return n;
    #pragma omp task shared(a)
    a = fibonacci(n - 1);
    #pragma omp task shared(b) if (n > 3)
    b = fibonacci(n - 2);
    #pragma omp taskwait
    return a + b;
}

int main(void) {
    int result = 0;
    #pragma omp parallel num_threads(3)
    {
        #pragma omp single
        {
            created = 3;
            result = fibonacci(7);
            #pragma omp task depend(out : x)
            x = created;
            #pragma omp task depend(in : x) depend(out : y)
            y = x + 1;
            #pragma omp task depend(inout : y)
            z = y + 1;
            #pragma omp taskgroup
            {
                #pragma omp task
                {
                    #pragma omp task
                    grouped = 5;
                }
            }
            if (grouped != 5) abort();
            #pragma omp taskloop grainsize(4)
            for (int i = 0; i < 40; i++) shares[i] = i;
            for (int i = 0; i < 40; i++) sums += shares[i];
            for (int i = 0; i < 6; i++) {
                struct text text;
                strcpy(text.words, "so long");
                #pragma omp task firstprivate(text)
                {
                    #pragma omp atomic
                    lengths += strlen(text.words);
                }
            }
        }
        if (z != 5 || lengths != 42) abort();
    }
    return result == 13 && sums == 780 && y == 4 ? 0 : 1;
}
