// std::pmr's synchronized pool gives memory of one thread to another.
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

int main() {
    std::pmr::synchronized_pool_resource pool;
    auto work = [&pool] {
        for (int i = 0; i < 4; i++) {
            std::pmr::vector<std::pmr::string> texts(&pool);
            for (int n = 0; n < 4; n++) texts.emplace_back("a text that is too long for its object");
            texts[1] += "more";
        }
    };
    std::thread a(work), b(work);
    a.join();
    b.join();
}
