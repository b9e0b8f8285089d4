// Objects of each thread are made at first use and destroyed at its end.
#include <string>
#include <thread>
#include <vector>

int tally;

struct Log {
    std::vector<std::string> lines;
    Log() { lines.push_back("begin"); }
    ~Log() { tally += (int)lines.size(); }
};

thread_local Log log_of_thread;

void work() { log_of_thread.lines.push_back("work"); }

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
