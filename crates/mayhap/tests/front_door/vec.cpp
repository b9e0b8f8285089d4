#include <thread>
#include <vector>
#include <cstdio>
// A log that two threads append to without a lock.
struct Log {
    std::vector<int> entries;
    void add(int value) { entries.push_back(value); }
    int last() const { return entries.empty() ? 0 : entries.back(); }
};
int main() {
    Log log;
    log.entries.reserve(64);
    std::thread writer([&] { for (int i = 0; i < 3; i++) log.add(i); });
    std::thread reader([&] { std::printf("%d\n", log.last() >= 0); });
    writer.join();
    reader.join();
    return 0;
}
