// Which number or line a thread takes from a stream depends on what others have taken: `late` writes without the lock only if `early` was
// there before it.
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>

std::mutex lock;
std::istringstream numbers("1 2 3"), words("1 2 3"), lines("1\n2\n3\n");
int shared[3];

static void take(int taken[3]) {
    std::string word, line;
    numbers >> taken[0];
    words >> word;
    taken[1] = std::atoi(word.c_str());
    std::getline(lines, line);
    taken[2] = std::atoi(line.c_str());
}

static void early() {
    int taken[3];
    lock.lock();
    take(taken);
    for (int i = 0; i < 3; i++)
        if (taken[i] == 1) shared[i] = 1;
    lock.unlock();
}

static void late() {
    int taken[3];
    lock.lock();
    take(taken);
    lock.unlock();
    for (int i = 0; i < 3; i++)
        if (taken[i] == 2) shared[i] = 2;
}

int main() {
    std::thread one(early);
    usleep(2000);
    std::thread two(late);
    one.join();
    two.join();
}
