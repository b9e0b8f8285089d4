// A virtual call while another thread destroys the object: the pointer to the virtual table races.
// race: main/heap
#include <thread>

struct Base;
static int seen;
__attribute__((noinline)) static void note(const Base *object);

struct Base {
    virtual ~Base() { note(this); }
    virtual int id() const { return 0; }
};
struct Derived : Base {
    int id() const override { return 1; }
};

static void note(const Base *object) { seen += object->id(); }

int main() {
    Base *object = new Derived;
    int called = 0;
    std::thread a([&] { called = object->id(); });
    std::thread b([&] { object->~Base(); });
    a.join();
    b.join();
    operator delete(object);
    return 0;
}
