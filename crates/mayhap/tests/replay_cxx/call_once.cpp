// What is done once is done by the thread that comes first.
#include <memory>
#include <mutex>
#include <string>
#include <thread>

int tally;
std::once_flag once;
std::unique_ptr<std::string> name;

void work() {
    std::call_once(once, [] { name = std::make_unique<std::string>("made once"); });
    tally += (int)name->size();
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
