// Functions as values, with what they have captured.
#include <functional>
#include <string>
#include <thread>
#include <vector>

int tally;

void work() {
    std::string name = "captured by value, too long to be stored inside";
    std::vector<std::function<int(int)>> steps;
    steps.push_back([name](int x) { return x + (int)name.size(); });
    steps.push_back(std::bind(std::plus<int>(), std::placeholders::_1, 2));
    int value = 0;
    for (auto &step : steps) value = step(value);
    tally += value;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
