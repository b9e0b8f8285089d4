// The environment is read and changed.
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

int tally;
std::mutex lock;

void work() {
    {
        std::lock_guard<std::mutex> hold(lock);
        setenv("MAYHAP_TEST_VARIABLE", "some text", 1);
    }
    const char *path = std::getenv("PATH");
    tally += path ? 1 : 2;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
