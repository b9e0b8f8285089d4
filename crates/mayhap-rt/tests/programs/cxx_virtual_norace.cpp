// Objects with virtual functions, made and destroyed by different threads under a lock.
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Base {
    virtual ~Base() = default;
    virtual int id() const { return 0; }
};
struct Derived : Base {
    int n;
    explicit Derived(int n) : n(n) {}
    int id() const override { return n; }
};

static std::mutex lock;
static std::vector<std::unique_ptr<Base>> all;
static int sum;

static void work(int seed) {
    for (int i = 0; i < 50; i++) {
        std::lock_guard<std::mutex> guard(lock);
        all.push_back(std::make_unique<Derived>(seed + i));
        sum += all.back()->id();
        if (all.size() > 5) all.erase(all.begin());
    }
}

int main() {
    std::thread a(work, 0), b(work, 1000);
    a.join();
    b.join();
    return sum != 2 * 1225 + 50000;
}
