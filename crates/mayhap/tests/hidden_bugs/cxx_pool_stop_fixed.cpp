// twin: cxx_pool_stop.cpp
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

class Pool {
    std::mutex lock;
    int jobs = 3, done = 0;
    bool stop = false;

public:
    void work() {
        for (int i = 0; i < 3; i++) {
            std::lock_guard<std::mutex> hold(lock);
            if (stop) return;
            jobs--;
            done++;
        }
    }
    void shut_down() {
        std::lock_guard<std::mutex> hold(lock);
        stop = true;
    }
    int finished() const { return done; }
};

int main() {
    static Pool pool;
    std::thread worker([] { pool.work(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    pool.shut_down();
    worker.join();
    std::printf("%d jobs\n", pool.finished());
    return 0;
}
