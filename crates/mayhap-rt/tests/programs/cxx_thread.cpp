// std::thread creates and joins.
// race: shared
// counts: fork=2 join=2
#include <thread>

int shared;

int main() {
    std::thread a([] {
        shared++;
    });
    std::thread b([] {
        shared++;
    });
    a.join();
    b.join();
    return 0;
}
