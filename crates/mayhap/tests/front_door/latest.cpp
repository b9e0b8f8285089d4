#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
// The latest reading of a sensor: written under the lock, read without it.
struct Sensor {
    std::optional<int> latest;
    std::mutex lock;
};
static Sensor sensor;
void measure(int value) {
    std::lock_guard<std::mutex> hold(sensor.lock);
    sensor.latest = value;
}
int main() {
    std::thread meter([] { measure(3); });
    std::thread display([] { std::printf("%d\n", sensor.latest.value_or(0) < 9); });
    meter.join();
    display.join();
    return 0;
}
