// Tasks go through a queue under a lock; what they compute comes back through their futures, also an exception.
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

std::mutex lock;
std::condition_variable ready;
std::deque<std::packaged_task<int()>> tasks;
bool done;
int value;

static void work() {
    for (;;) {
        std::packaged_task<int()> task;
        {
            std::unique_lock guard(lock);
            ready.wait(guard, [] { return done || !tasks.empty(); });
            if (tasks.empty()) return;
            task = std::move(tasks.front());
            tasks.pop_front();
        }
        task();
    }
}

static std::future<int> add(std::packaged_task<int()> task) {
    auto future = task.get_future();
    std::lock_guard guard(lock);
    tasks.push_back(std::move(task));
    ready.notify_one();
    return future;
}

int main() {
    std::thread a(work), b(work);
    auto first = add(std::packaged_task<int()>([] { return ++value; }));
    int sum = first.get() + value;
    auto second = add(std::packaged_task<int()>([]() -> int { throw std::runtime_error("no"); }));
    try {
        second.get();
    } catch (const std::runtime_error &error) {
        sum += error.what()[0] == 'n';
    }
    {
        std::lock_guard guard(lock);
        done = true;
    }
    ready.notify_all();
    a.join();
    b.join();
    return sum != 3;
}
