// Lines are read from standard input under a lock.
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

int tally;
std::mutex input;

void work() {
    std::string line;
    {
        std::lock_guard<std::mutex> hold(input);
        std::getline(std::cin, line);
    }
    tally += 1 + (int)line.size();
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
