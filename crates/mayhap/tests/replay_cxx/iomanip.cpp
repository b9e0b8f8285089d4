// Formats with flags of a stream: widths, bases, fills.
#include <iomanip>
#include <sstream>
#include <string>
#include <thread>

int tally;

void work() {
    std::ostringstream text;
    text << std::setw(8) << std::setfill('.') << std::hex << 255 << std::fixed << std::setprecision(3) << 1.5;
    tally += (int)text.str().size();
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
