// Texts become numbers and numbers texts.
#include <charconv>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

int tally;

void work() {
    char text[64];
    std::snprintf(text, sizeof text, "%08.3f|%s|%p", 2.5, "text", (void *)text);
    int number = 0;
    std::from_chars("4217 rest", "4217 rest" + 9, number);
    try {
        number += std::stoi("no number");
    } catch (const std::invalid_argument &) {
        number += (int)std::stod("1.5");
    }
    tally += number;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
