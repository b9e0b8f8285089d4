// kind: use-after-free
// effect: use after free
// findings: 1
// bug: the pool's destructor detaches its workers instead of joining them
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
    std::mutex m_;
    std::condition_variable cv_;
    std::deque<std::function<void()>> jobs_;
    bool stop_ = false;
    std::vector<std::thread> workers_;

public:
    explicit Pool(int n) {
        for (int i = 0; i < n; i++)
            workers_.emplace_back([this] { run(); });
    }
    void post(std::function<void()> f) {
        {
            std::lock_guard<std::mutex> g(m_);
            jobs_.push_back(std::move(f));
        }
        cv_.notify_one();
    }
    void run() {
        for (;;) {
            std::function<void()> job;
            {
                std::unique_lock<std::mutex> lk(m_);
                cv_.wait(lk, [this] { return stop_ || !jobs_.empty(); });
                if (jobs_.empty()) return;
                job = std::move(jobs_.front());
                jobs_.pop_front();
            }
            job();
        }
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> g(m_);
            stop_ = true;
        }
        cv_.notify_all();
        for (auto &w : workers_)
#ifdef FIXED
            w.join();
#else
            w.detach();
        std::this_thread::sleep_for(std::chrono::milliseconds(100)); // "long enough"
#endif
    }
};

int main() {
    std::atomic<int> done{0};
    {
        auto pool = std::make_unique<Pool>(1);
        pool->post([&] { done++; });
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::printf("%d\n", done.load());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}
