// Numbers are taken out of a text.
#include <sstream>
#include <string>
#include <thread>

int tally;

void work() {
    std::istringstream text("1 2 3 4.5 end");
    int a, b, c;
    double d;
    std::string rest;
    text >> a >> b >> c >> d >> rest;
    tally += a + b + c;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
