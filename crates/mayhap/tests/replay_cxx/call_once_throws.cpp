// The first attempt throws, the second succeeds.
#include <mutex>
#include <stdexcept>
#include <thread>

int tally;
std::once_flag once;
int attempts;

void initialise() {
    if (++attempts == 1) throw std::runtime_error("not yet");
}

void work() {
    for (bool done = false; !done;) {
        try {
            std::call_once(once, initialise);
            done = true;
        } catch (const std::runtime_error &) {
        }
    }
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
