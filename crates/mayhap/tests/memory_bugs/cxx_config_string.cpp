// kind: use-after-free
// effect: use after free
// bug: a request keeps the text of a setting as a C string; reloading the configuration assigns a longer text
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

static std::string name(40, 'a');
static std::mutex lock;
static int letters;

static void request()
{
#ifdef FIXED
    std::string kept;
    {
        std::lock_guard<std::mutex> guard(lock);
        kept = name;
    }
    const char *text = kept.c_str();
#else
    const char *text;
    {
        std::lock_guard<std::mutex> guard(lock);
        text = name.c_str();
    }
#endif
    for (int i = 0; i < 8; i++)
        letters += text[i] == 'a';
}

static void reload()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::lock_guard<std::mutex> guard(lock);
    name = std::string(200, 'b');
}

int main()
{
    std::thread a(request), b(reload);
    a.join();
    b.join();
    std::printf("%d\n", letters);
}
