// Both threads print; the race is beside the stream's own work.
#include <iostream>
#include <thread>

int tally;

void work() {
    std::cout << "working\n" << std::flush;
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
