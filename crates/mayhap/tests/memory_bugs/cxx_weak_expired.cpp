// kind: null-dereference
// explored: the test and the use of a weak pointer are two looks at its owner
// bug: the owner may go between the test and the use
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

struct node { int visits = 1; };
static std::shared_ptr<node> owner = std::make_shared<node>();
static std::weak_ptr<node> observed = owner;

int main() {
    std::thread visitor([] {
#ifdef FIXED
        if (auto mine = observed.lock()) mine->visits++;
#else
        if (!observed.expired()) observed.lock()->visits++;
#endif
    });
    std::thread closer([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        owner.reset();
    });
    visitor.join();
    closer.join();
    puts("done");
    return 0;
}
