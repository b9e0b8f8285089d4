// The guard of a static local orders its construction before all uses.
#include <thread>
#include <cstdlib>

struct Thing {
    int value;
    Thing() : value(7) {}
};

Thing &thing() {
    static Thing it;
    return it;
}

int main() {
    std::thread a([] {
        if (thing().value != 7) std::abort();
    });
    std::thread b([] {
        if (thing().value != 7) std::abort();
    });
    a.join();
    b.join();
    return 0;
}
