// kind: race use-after-free
// bug: an owner that sees no other owner frees the object, though its look at the count publishes and acquires nothing
// expect: Image pixels heap
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>

struct Image {
    std::atomic<int> owners{2};
    int pixels[4] = {};
};

static void release(Image *image) {
#ifdef FIXED
    if (image->owners.load(std::memory_order_acquire) == 1 || image->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
#else
    if (image->owners.load(std::memory_order_relaxed) == 1 || image->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
#endif
        delete image;
}

int main() {
    Image *image = new Image;
    std::thread painter([image] {
        image->pixels[2] = 255;
        release(image);
    });
    usleep(30000);
    release(image);
    painter.join();
    return 0;
}
