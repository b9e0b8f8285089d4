// A test binary that lists and chooses its tests as GoogleTest does, with a class of the same name.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

namespace testing {
class UnitTest {
  public:
    int run(const char *name);
};

// What was added twice is there twice.
__attribute__((noinline)) int UnitTest::run(const char *name) {
    std::atomic<int> total{0};
    bool in_one_step = !std::strcmp(name, "Tally.AddsInOneStep");
    auto add = [&] {
        if (in_one_step) {
            total++;
            return;
        }
        int seen = total.load();
        total.store(seen + 1);
    };
    std::thread first(add), second(add);
    first.join();
    second.join();
    return total.load() == 2 ? 0 : 1;
}
} // namespace testing

int main(int count, char **words) {
    testing::UnitTest test;
    for (int at = 1; at < count; at++) {
        if (!std::strcmp(words[at], "--gtest_list_tests")) {
            std::puts("Tally.\n  AddsInOneStep\n  AddsInTwoSteps\n  DISABLED_Later");
            return 0;
        }
        if (!std::strncmp(words[at], "--gtest_filter=", 15))
            return test.run(words[at] + 15);
    }
    return 2;
}
