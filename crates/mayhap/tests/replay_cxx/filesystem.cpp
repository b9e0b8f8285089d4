// A folder is made, listed and removed; its name has the process id in it.
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;
int tally;

void work(int number) {
    fs::path folder = fs::temp_directory_path() / ("mayhap-" + std::to_string(getpid()) + "-" + std::to_string(number));
    fs::create_directories(folder / "inner");
    std::ofstream(folder / "file") << "text";
    int entries = 0;
    for (const auto &entry : fs::recursive_directory_iterator(folder)) entries += !entry.path().empty();
    fs::remove_all(folder);
    tally += entries;
}

int main() {
    std::thread a(work, 1), b(work, 2);
    a.join();
    b.join();
}
