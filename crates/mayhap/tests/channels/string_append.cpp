// Two threads append to a string that no lock protects; its length and characters are changed inside the C++ library.
// proven: name
#include <string>
#include <thread>
#include <cstdlib>

std::string name;

int main() {
    name.reserve(100);
    std::thread a([] { name.append("first"); });
    std::thread b([] { name.append("second"); });
    a.join();
    b.join();
    if (name.size() > 11) std::abort();
}
