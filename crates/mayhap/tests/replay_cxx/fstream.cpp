// A file is written and read back line by line; its name has the process id in it.
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

int tally;

void work(int number) {
    std::string name = "/tmp/mayhap-fstream-" + std::to_string(getpid()) + "-" + std::to_string(number);
    std::ofstream(name) << "first\nsecond\n";
    std::ifstream file(name);
    std::string line;
    int lines = 0;
    while (std::getline(file, line)) ++lines;
    std::remove(name.c_str());
    tally += lines;
}

int main() {
    std::thread a(work, 1), b(work, 2);
    a.join();
    b.join();
}
