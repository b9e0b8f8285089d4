// A static object of a function is made at first use.
#include <map>
#include <string>
#include <thread>

int tally;

const std::map<std::string, int> &table() {
    static const std::map<std::string, int> numbers{{"one", 1}, {"two", 2}, {"three", 3}};
    return numbers;
}

void work() { tally += table().at("two"); }

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
