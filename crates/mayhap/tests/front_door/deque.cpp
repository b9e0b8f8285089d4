#include <deque>
#include <thread>
#include <mutex>
#include <condition_variable>
#include <cstdio>
// A job queue whose size is read without the lock.
class Jobs {
    std::deque<int> waiting;
    std::mutex guard;
    std::condition_variable some;
public:
    void post(int job) { { std::lock_guard<std::mutex> hold(guard); waiting.push_back(job); } some.notify_one(); }
    int take() { std::unique_lock<std::mutex> hold(guard); some.wait(hold, [this] { return !waiting.empty(); }); int job = waiting.front(); waiting.pop_front(); return job; }
    size_t backlog() const { return waiting.size(); }
};
int main() {
    Jobs jobs;
    int sum = 0;
    std::thread worker([&] { for (int i = 0; i < 3; i++) sum += jobs.take(); });
    std::thread monitor([&] { std::printf("%d\n", jobs.backlog() < 100); });
    for (int i = 0; i < 3; i++) jobs.post(i);
    worker.join();
    monitor.join();
    return sum == 3 ? 0 : 1;
}
