// The data are written after the string says that they are there.
// flags: -O0
// proven: data
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

std::mutex lock;
std::string text;
int data;

int main() {
    std::thread a([] {
        {
            std::lock_guard<std::mutex> guard(lock);
            text = "ready";
        }
        data = 1;
    });
    std::thread b([] {
        usleep(100000);
        bool there;
        {
            std::lock_guard<std::mutex> guard(lock);
            there = text.size() == 5;
        }
        if (there) printf("%d\n", data);
    });
    a.join();
    b.join();
}
