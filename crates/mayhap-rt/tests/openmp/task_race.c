// proven: result
// A task and the thread that made it, which does not wait for it.
int result, begun;

int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task
        {
            __atomic_store_n(&begun, 1, __ATOMIC_RELAXED);
            result = 1;
        }
        while (!__atomic_load_n(&begun, __ATOMIC_RELAXED));
        result = 2;
    }
    return result == 0;
}
