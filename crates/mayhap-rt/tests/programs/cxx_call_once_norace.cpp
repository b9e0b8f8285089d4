// std::call_once.
#include <thread>
#include <cstdlib>
#include <mutex>

std::once_flag once;
int value;

void use() {
    std::call_once(once, [] { value = 7; });
    if (value != 7) std::abort();
}

int main() {
    std::thread a([] {
        use();
    });
    std::thread b([] {
        use();
    });
    a.join();
    b.join();
    return 0;
}
