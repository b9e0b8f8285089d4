// Facets of the classic locale, used in each thread.
#include <locale>
#include <sstream>
#include <thread>

int tally;

void work() {
    std::locale here;
    const auto &letters = std::use_facet<std::ctype<char>>(here);
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << letters.toupper('a') << 1234567.5;
    tally += (int)text.str().size();
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
