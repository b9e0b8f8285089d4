// What a thread takes from a stream in memory says that the data is there.
// standard: c++20
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>
#include <unistd.h>

static std::stringstream numbers, words;
static std::ostringstream text;
static std::mutex lock;
static int data[3];

int main() {
    std::thread thread([] {
        for (int &one : data) one = 7;
        {
            std::lock_guard<std::mutex> guard(lock);
            numbers << 42;
        }
        {
            std::lock_guard<std::mutex> guard(lock);
            words << "ready\n";
        }
        std::lock_guard<std::mutex> guard(lock);
        text << "done";
    });
    usleep(3000);
    int number = 0, sum = 0;
    {
        std::lock_guard<std::mutex> guard(lock);
        numbers >> number;
    }
    if (number == 42) sum += data[0];
    std::string line;
    {
        std::lock_guard<std::mutex> guard(lock);
        std::getline(words, line);
    }
    if (line == "ready") sum += data[1];
    bool done;
    {
        std::lock_guard<std::mutex> guard(lock);
        done = text.str().size() == 4;
    }
    if (done) sum += data[2];
    thread.join();
    std::cout << (sum >= 0) << "\n";
}
