// Wide streams convert by the locale.
#include <iostream>
#include <mutex>
#include <thread>

int tally;
std::mutex screen;

void work() {
    {
        std::lock_guard<std::mutex> hold(screen);
        std::wcout << L"wide " << 7 << std::endl;
    }
    ++tally;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
