// A future hands its value over, not what is written after the promise was kept.
// proven: extra
#include <future>
#include <thread>

int extra;

int main() {
    std::promise<int> promise;
    std::thread other([&promise] {
        promise.set_value(1);
        extra = 2;
    });
    int sum = promise.get_future().get() + extra;
    other.join();
    return sum > 3;
}
