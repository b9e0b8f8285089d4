// kind: use-after-free
// effect: use after free
// findings: 1
// bug: the writer takes the lock in shared mode, so that a reader may hold a buffer that grows
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

struct Document {
    mutable std::shared_mutex m;
    std::string text = "twenty-four characters..";
    size_t words() const {
        std::shared_lock<std::shared_mutex> g(m);
        size_t n = 0;
        const char *p = text.data();
        for (size_t i = 0; i < text.size(); i++) n += p[i] == ' ';
        return n + 1;
    }
    void append(const char *s) {
#ifdef FIXED
        std::unique_lock<std::shared_mutex> g(m);
#else
        std::shared_lock<std::shared_mutex> g(m);
#endif
        text += s;
    }
};

int main() {
    Document d;
    std::thread a([&] { std::printf("%zu\n", d.words()); });
    std::thread b([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        d.append(" and some more, so that it must move to another place");
    });
    a.join();
    b.join();
}
