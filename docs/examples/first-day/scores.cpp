#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static std::vector<int> scores;

static void add(int score)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    scores.push_back(score);
}

static int count()
{
    std::lock_guard<std::mutex> guard(lock);
    return scores.size();
}

int main()
{
    scores.reserve(8);
    std::thread reader([] { std::printf("%d scores\n", count()); });
    std::thread writer([] { add(7); });
    reader.join();
    writer.join();
}
