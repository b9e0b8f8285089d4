// Strings, lists and maps that one lock protects, with everything the C++ library does to them in its own code.
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

std::mutex lock;
std::string text;
std::list<std::string> lines;
std::map<std::string, int> counts;
std::multiset<int> numbers;

static void work(int number) {
    for (int i = 0; i < 4; i++) {
        std::lock_guard guard(lock);
        text += "some more text " + std::to_string(number);
        if (text.size() > 60) text.erase(0, 20);
        text.insert(0, "x").replace(0, 1, "yy");
        lines.push_front(text.substr(0, 5));
        lines.sort();
        if (lines.size() > 3) lines.pop_back();
        counts[text.substr(1, 3)]++;
        numbers.insert(i);
        if (i == 3) numbers.erase(numbers.begin());
    }
}

int main() {
    std::thread a(work, 1), b(work, 2);
    a.join();
    b.join();
    return text.empty();
}
