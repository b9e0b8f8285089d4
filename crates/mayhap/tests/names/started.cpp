// Optimised code calls the library's compiled functions from the program's own: a thread is started, and text is printed, at a line of this file.
#include <iostream>
#include <string>
#include <thread>

static std::string text = "a text that is too long for the string itself to hold";

static void write() {
    text[3] = 'x';
}

static void print() {
    std::cout << text << "\n"; // read here
}

int main() {
    std::thread writer(write); // started here
    std::thread printer(print); // started here
    writer.join();
    printer.join();
}
