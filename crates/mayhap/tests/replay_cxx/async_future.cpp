// Two tasks run asynchronously and their results are awaited.
#include <future>

int tally;

int work(int number) {
    ++tally;
    return number * 2;
}

int main() {
    std::future<int> a = std::async(std::launch::async, work, 1);
    std::future<int> b = std::async(std::launch::async, work, 2);
    return a.get() + b.get() == 6 ? 0 : 1;
}
