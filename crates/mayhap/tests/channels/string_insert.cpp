// A string is inserted into and searched by two threads.
// proven: text
#include <string>
#include <thread>
#include <cstdlib>

std::string text = "a few words that are longer than the object itself";

int main() {
    std::thread a([] { text.insert(2, "more "); });
    bool found = text.find("words") != std::string::npos;
    a.join();
    if (!found) std::abort();
}
