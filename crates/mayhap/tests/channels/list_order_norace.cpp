// A thread reads data only if the order of a list, or which list it is, says that another thread has published it.
#include <cstdio>
#include <list>
#include <mutex>
#include <thread>
#include <unistd.h>

std::mutex lock;
std::list<int> turned{1, 2, 3}, full{4}, empty;
int behind_order, behind_swap;

int main() {
    std::thread a([] {
        behind_order = behind_swap = 1;
        std::lock_guard<std::mutex> guard(lock);
        turned.reverse();
        full.swap(empty);
    });
    std::thread b([] {
        usleep(100000);
        std::lock_guard<std::mutex> guard(lock);
        if (turned.front() == 3) printf("%d\n", behind_order);
        if (empty.begin() != empty.end()) printf("%d\n", behind_swap);
    });
    a.join();
    b.join();
}
