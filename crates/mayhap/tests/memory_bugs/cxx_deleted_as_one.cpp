// kind: mismatched-free
// explored: in every order of the threads
// bug: a thread deletes an array as one object, and another a block with an alignment as one without
#include <new>
#include <thread>

struct alignas(64) Line { int words[16]; };
static int sum;

static void numbers() {
    int *made = new int[8];
    for (int i = 0; i < 8; i++) made[i] = i;
    sum = made[7];
#ifdef FIXED
    delete[] made;
#else
    ::operator delete(made);
#endif
}

static void lines() {
    Line *made = new Line;
    made->words[0] = 1;
#ifdef FIXED
    delete made;
#else
    made->~Line();
    ::operator delete(made);
#endif
}

int main() {
    std::thread a(numbers);
    std::thread b(lines);
    a.join();
    b.join();
    return sum != 7;
}
