// kind: race use-after-free
// bug: a reader publishes its hazard pointer, but does not look again whether the object was retired before that
// expect: heap config Config level
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>

struct Config {
    int level;
};

static std::atomic<Config *> config{new Config{1}};
static std::atomic<Config *> hazard{nullptr};

static Config *protect() {
    Config *seen = config.load();
#ifdef FIXED
    for (;;) {
        hazard.store(seen);
        Config *again = config.load();
        if (again == seen) return seen;
        seen = again;
    }
#else
    hazard.store(seen);
    return seen;
#endif
}

static void read_config() {
    hazard.store(nullptr);
    Config *mine = protect();
    int level = mine->level;
    hazard.store(nullptr);
    std::printf("level %d\n", level);
}

static void replace() {
    usleep(30000);
    Config *old = config.exchange(new Config{2});
    while (hazard.load() == old) {
    }
    delete old;
}

int main() {
    std::thread reader(read_config), writer(replace);
    reader.join();
    writer.join();
    delete config.load();
    return 0;
}
