// Memory comes from a pool of the program's own.
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

int tally;
std::pmr::synchronized_pool_resource pool;

void work() {
    std::pmr::vector<std::pmr::string> lines(&pool);
    for (int i = 0; i < 8; i++) lines.emplace_back("a line that needs memory of its own");
    tally += (int)lines.size();
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
