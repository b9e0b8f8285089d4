// The global locale is set, and streams take it over.
#include <iostream>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <thread>

struct Dots : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

int tally;

void work() {
    std::ostringstream text;
    text << 1000000;
    try {
        std::locale missing("xx_YY.nowhere");
    } catch (const std::runtime_error &) {
        tally += (int)text.str().size();
    }
}

int main() {
    std::locale::global(std::locale(std::locale::classic(), new Dots));
    std::thread a(work), b(work);
    a.join();
    b.join();
}
