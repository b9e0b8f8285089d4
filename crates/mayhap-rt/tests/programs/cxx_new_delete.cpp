// A block from new is named by where the program says so; delete races with a use.
// race: main/heap
// names: main/heap1@
#include <thread>

int *shared;
volatile int sink;

int main() {
    shared = new int(5);
    std::thread a([] {
        sink = *shared;
    });
    std::thread b([] {
        delete shared;
    });
    a.join();
    b.join();
    return 0;
}
