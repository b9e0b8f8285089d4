#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
// A table of counters: inserts hold the lock, the number of entries is read without it.
class Table {
    std::unordered_map<int, std::string> rows;
    mutable std::mutex lock;
public:
    void put(int key) {
        std::lock_guard<std::mutex> hold(lock);
        rows.emplace(key, "row");
    }
    size_t rows_now() const { return rows.size(); }
};
int main() {
    auto table = std::make_unique<Table>();
    std::thread filler([&] {
        for (int key = 0; key < 3; key++)
            table->put(key);
    });
    std::thread counter([&] { std::printf("%d\n", table->rows_now() < 10); });
    filler.join();
    counter.join();
    return 0;
}
