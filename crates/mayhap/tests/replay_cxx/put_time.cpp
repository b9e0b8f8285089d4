// A time is written as a text, by the time zone.
#include <chrono>
#include <ctime>
#include <iomanip>
#include <mutex>
#include <sstream>
#include <thread>

int tally;
std::mutex calendar;

void work() {
    std::ostringstream text;
    {
        std::lock_guard<std::mutex> hold(calendar);
        std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
        text << std::put_time(std::localtime(&now), "%Y-%m-%d %H:%M:%S");
    }
    tally += (int)text.str().size();
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
