// A virtual call reads the table pointer that a destructor may be changing.
// race: main/heap
#include <thread>

struct Base {
    virtual ~Base() {}
    virtual int value() { return 1; }
};
struct Derived : Base {
    int value() override { return 2; }
    ~Derived() override { count++; }
    static int count;
};
int Derived::count;
Base *object;
volatile int sink;

int main() {
    object = new Derived;
    std::thread a([] {
        sink = object->value();
    });
    std::thread b([] {
        delete object;
    });
    a.join();
    b.join();
    return 0;
}
