// A thread pool: tasks are functions in a queue under a lock with a condition, results come back through futures.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
    std::mutex lock;
    std::condition_variable ready;
    std::deque<std::function<void()>> tasks;
    bool closed = false;
    std::vector<std::thread> threads;

    void run() {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock<std::mutex> held(lock);
                ready.wait(held, [&] { return closed || !tasks.empty(); });
                if (tasks.empty())
                    return;
                task = std::move(tasks.front());
                tasks.pop_front();
            }
            task();
        }
    }

public:
    explicit Pool(int count) {
        for (int i = 0; i < count; i++)
            threads.emplace_back([this] { run(); });
    }
    template <class F> std::future<long> submit(F f) {
        auto task = std::make_shared<std::packaged_task<long()>>(f);
        auto result = task->get_future();
        {
            std::lock_guard<std::mutex> held(lock);
            tasks.emplace_back([task] { (*task)(); });
        }
        ready.notify_one();
        return result;
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> held(lock);
            closed = true;
        }
        ready.notify_all();
        for (auto &thread : threads)
            thread.join();
    }
};

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 6000;
    long sum = 0;
    Pool pool(2);
    std::deque<std::future<long>> results;
    for (int i = 0; i < count; i++) {
        results.push_back(pool.submit([i] {
            long value = i;
            for (int j = 0; j < 100; j++)
                value = value * 31 % 1000003;
            return value;
        }));
        if (results.size() > 64) {
            sum += results.front().get();
            results.pop_front();
        }
    }
    for (auto &result : results)
        sum += result.get();
    printf("%ld\n", sum);
}
