// One expression for all, and an iterator over its matches.
#include <iterator>
#include <regex>
#include <string>
#include <thread>

int tally;
const std::regex number("[0-9]+");

void work() {
    const std::string text = "1 22 333";
    auto first = std::sregex_iterator(text.begin(), text.end(), number);
    tally += (int)std::distance(first, std::sregex_iterator());
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
