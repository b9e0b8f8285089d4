// Two threads put elements into one list without a lock.
// proven: elements
#include <list>
#include <thread>

std::list<int> elements;

int main() {
    std::thread a([] { elements.push_back(1); });
    std::thread b([] { elements.push_front(2); });
    a.join();
    b.join();
}
