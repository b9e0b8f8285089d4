// kind: use-after-free
// effect: use after free
// bug: a shared_ptr to a member is made with an empty owner, so it keeps nothing alive
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

struct Camera {
    int id = 7;
    double exposure = 0.5;
    ~Camera() { exposure = -1; }
};

struct Registry {
    std::mutex m;
    std::shared_ptr<Camera> camera = std::make_shared<Camera>();

    std::shared_ptr<double> exposure() {
        std::lock_guard<std::mutex> g(m);
        if (!camera) return nullptr;
#ifdef FIXED
        return std::shared_ptr<double>(camera, &camera->exposure);
#else
        return std::shared_ptr<double>(std::shared_ptr<void>(), &camera->exposure);
#endif
    }
    void unplug() {
        std::lock_guard<std::mutex> g(m);
        camera.reset();
    }
};

int main() {
    Registry registry;
    auto ui = std::async(std::launch::async, [&] {
        auto e = registry.exposure();
        return e ? *e : 0.0;
    });
    std::thread usb([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
        registry.unplug();
    });
    std::printf("%.1f\n", ui.get());
    usb.join();
}
