// proven: cells
// Nobody waits for the first loop, and the second reads what other threads write in it.
int cells[4], sums[4];

int main(void) {
    #pragma omp parallel num_threads(2)
    {
        #pragma omp for schedule(static) nowait
        for (int i = 0; i < 4; i++) cells[i] = i;
        #pragma omp for schedule(static)
        for (int i = 0; i < 4; i++) sums[i] = cells[3 - i];
    }
    return 0;
}
