// A value is promised; the race comes after the promise is kept.
#include <future>
#include <string>
#include <thread>

int tally;
std::promise<std::string> promise;

void give() {
    promise.set_value("kept");
    ++tally;
}

int main() {
    std::shared_future<std::string> future = promise.get_future().share();
    std::thread giver(give);
    int length = (int)future.get().size();
    tally += length;
    giver.join();
}
