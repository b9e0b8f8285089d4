// Exceptions are thrown and caught in both threads.
#include <stdexcept>
#include <string>
#include <thread>

int tally;

int fails(int depth) {
    if (depth == 0) throw std::runtime_error("no luck");
    return fails(depth - 1) + 1;
}

void work() {
    try {
        fails(4);
    } catch (const std::exception &error) {
        tally += (int)std::string(error.what()).size();
    }
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
