// One thread walks a tree in which another one inserts: the links are read and written inside the C++ library.
// proven: main
#include <map>
#include <mutex>
#include <thread>
#include <chrono>
#include <cstdlib>

std::mutex m;
std::map<int, int> *ages;
long sum;

int main() {
    ages = new std::map<int, int>{{1, 10}, {5, 50}, {9, 90}};
    auto first = ages->begin();
    std::thread writer([] {
        std::lock_guard lock(m);
        ages->emplace(3, 30);
    });
    std::thread reader([first] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        {
            std::lock_guard lock(m);
            sum = 1;
        }
        auto second = std::next(first);
        if (second->first < 3) std::abort();
    });
    writer.join();
    reader.join();
    delete ages;
}
