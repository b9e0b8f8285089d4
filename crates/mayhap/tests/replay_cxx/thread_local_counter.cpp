// A number of each thread, flushed into a total.
#include <thread>

int tally;

struct Counter {
    inline static thread_local int mine = 0;
};

void work() {
    for (int i = 0; i < 5; i++) ++Counter::mine;
    tally += Counter::mine;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
