// kind: use-after-free
// effect: use after free
// bug: a pool hands out objects of one aligned slab and gives the slab back when the last object is returned; a reader still has one
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

struct alignas(64) Object { long value; };

struct Pool {
    std::mutex lock;
    Object *slab = static_cast<Object *>(std::aligned_alloc(64, 4 * sizeof(Object)));
    int used = 0;
    Object *take() { std::lock_guard<std::mutex> guard(lock); return &slab[used++]; }
    void put() {
        std::lock_guard<std::mutex> guard(lock);
        if (--used == 0) {
            std::free(slab);
            slab = nullptr;
        }
    }
};

static Pool pool;
static std::mutex lock;
static Object *shown;
static long seen;

static void reads()
{
#ifdef FIXED
    std::lock_guard<std::mutex> guard(lock);
    if (shown)
        seen = shown->value;
#else
    Object *object;
    {
        std::lock_guard<std::mutex> guard(lock);
        object = shown;
    }
    if (object)
        seen = object->value;
#endif
}

static void returns()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    {
        std::lock_guard<std::mutex> guard(lock);
        shown = nullptr;
    }
    pool.put();
}

int main()
{
    shown = pool.take();
    shown->value = 5;
    std::thread a(reads), b(returns);
    a.join();
    b.join();
    std::printf("%ld\n", seen);
}
