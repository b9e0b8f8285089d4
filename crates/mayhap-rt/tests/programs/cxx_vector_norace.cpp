// Containers, allocators and strings under a mutex.
#include <thread>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

std::mutex lock;
std::vector<std::string> words;

void add(const char *word) {
    for (int i = 0; i < 100; i++) {
        std::lock_guard<std::mutex> guard(lock);
        words.push_back(std::string(word) + std::to_string(i));
    }
}

int main() {
    std::thread a([] {
        add("a longer word than fits into the string itself ");
    });
    std::thread b([] {
        add("b");
    });
    a.join();
    b.join();
    if (words.size() != 200) std::abort();
    return 0;
}
