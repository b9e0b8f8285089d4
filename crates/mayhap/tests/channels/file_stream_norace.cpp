// A thread writes a file and hands its name over; another one reads it.
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

int main() {
    auto path = std::filesystem::temp_directory_path() / ("mayhap-" + std::to_string(getpid()));
    auto last = path;
    last += ".done";
    int value = 0;
    std::thread reader([&] {
        while (!std::filesystem::exists(last)) std::this_thread::yield();
        std::ifstream in(last);
        std::string word;
        in >> word;
        value += static_cast<int>(word.size());
    });
    value = 1;
    {
        std::ofstream out(path);
        out << "hello\n";
    }
    std::filesystem::rename(path, last);
    reader.join();
    std::filesystem::remove(last);
    return value != 6;
}
