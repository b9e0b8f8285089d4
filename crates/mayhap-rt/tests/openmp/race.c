// proven: count
// A counter that all threads count up, beside one that is protected.
int count, protected;

int main(void) {
    #pragma omp parallel num_threads(2)
    {
        count++;
        #pragma omp critical
        protected++;
    }
    return protected == 2 ? 0 : 1;
}
