// kind: mismatched-free
// effect: mismatched free
// bug: a flag says how the buffer was allocated, but it is set after the buffer is handed out
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <unistd.h>

struct Buffer { char text[24]; };
static std::atomic<Buffer *> buffer{nullptr};
static std::atomic<bool> from_malloc{false};

static void producer() {
    auto *made = static_cast<Buffer *>(std::malloc(sizeof(Buffer)));
    std::memset(made->text, 'x', sizeof made->text);
#ifdef FIXED
    from_malloc = true;
    buffer = made;
#else
    buffer = made;
    from_malloc = true;
#endif
}

static void consumer() {
    Buffer *got;
    while (!(got = buffer)) usleep(1000);
    if (from_malloc)
        std::free(got);
    else
        delete got;
}

int main() {
    std::thread a(producer), b(consumer);
    a.join();
    b.join();
    return 0;
}
