// Each thread compiles an expression and matches by it.
#include <regex>
#include <string>
#include <thread>

int tally;

void work() {
    std::regex word("([a-z]+)([0-9]*)");
    std::smatch match;
    std::string text = "abc123";
    if (std::regex_match(text, match, word)) tally += (int)match[2].length();
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
