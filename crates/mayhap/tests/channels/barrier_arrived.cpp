// A thread that only arrives at a barrier goes on before others do; what it then writes is not behind the barrier.
// proven: value
// standard: c++20
#include <barrier>
#include <thread>

static int value;

int main() {
    std::barrier both(2);
    std::thread other([&] {
        auto arrival = both.arrive();
        value = 1;
        both.wait(std::move(arrival));
    });
    both.arrive_and_wait();
    value++;
    other.join();
    return 0;
}
