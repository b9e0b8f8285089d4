// Threads meet, then go on together.
#include <barrier>
#include <thread>

int tally;
std::barrier meeting(2);

void work() {
    meeting.arrive_and_wait();
    ++tally;
    meeting.arrive_and_wait();
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
