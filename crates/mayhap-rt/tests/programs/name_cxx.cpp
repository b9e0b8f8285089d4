// Bases, static members, namespaces, static locals and wrappers of C++.
// names: world::derived.from_base world::derived.own[1] Registry::total next()::last hits guard list.values[2].first
#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

struct Base {
    long from_base;
};

struct Middle : Base {
    long between;
};

namespace world {
struct Derived : Middle {
    class Nested {
        long not_here[4];
    };
    static long elsewhere;
    int own[3];
};
Derived derived;
}

struct Registry {
    static long total;
};
long Registry::total;

std::atomic<int> hits;
std::mutex guard;

struct List {
    long length;
    std::pair<int, long> values[4];
} list;

__attribute__((noinline)) int next() {
    static int last;
    return ++last;
}

static void work() {
    world::derived.from_base++;
    world::derived.own[1]++;
    Registry::total++;
    next();
    hits++;
    std::lock_guard<std::mutex> hold(guard);
    list.values[2].first++;
}

int main() {
    std::thread a(work), b([] {
        list.values[2].first++;
        work();
    });
    a.join();
    b.join();
}
