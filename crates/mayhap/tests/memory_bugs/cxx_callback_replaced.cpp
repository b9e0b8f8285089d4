// kind: use-after-free
// effect: use after free
// findings: 1
// bug: a callback is replaced while it may be running
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

class Button {
#ifdef FIXED
    std::mutex m_;
    std::shared_ptr<std::function<void()>> click_ = std::make_shared<std::function<void()>>();
#else
    std::function<void()> click_;
#endif
public:
    void onClick(std::function<void()> f) {
#ifdef FIXED
        auto fresh = std::make_shared<std::function<void()>>(std::move(f));
        std::lock_guard<std::mutex> g(m_);
        click_ = fresh;
#else
        click_ = std::move(f);
#endif
    }
    void click() {
#ifdef FIXED
        std::shared_ptr<std::function<void()>> now;
        {
            std::lock_guard<std::mutex> g(m_);
            now = click_;
        }
        if (*now) (*now)();
#else
        if (click_) click_();
#endif
    }
};

int main() {
    Button b;
    int counters[8] = {0};
    long base = 5, step = 2, limit = 100;
    b.onClick([&counters, base, step, limit] { if (base < limit) counters[1] += base + step; });
    std::thread user([&] { b.click(); });
    std::thread ui([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        b.onClick([&counters, base, step, limit] { if (base < limit) counters[2] += base * step; });
    });
    user.join();
    ui.join();
    std::printf("%d %d\n", counters[1], counters[2]);
}
