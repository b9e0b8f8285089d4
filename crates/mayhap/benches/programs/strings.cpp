// A cache with a string map: two threads look words up in a common map under a lock and insert what is missing.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

static std::mutex lock;
static std::unordered_map<std::string, std::string> cache;
static long hits, misses;

static void work(unsigned seed, int rounds) {
    for (int i = 0; i < rounds; i++) {
        seed = seed * 1664525 + 1013904223;
        std::string key = "user:" + std::to_string(seed >> 22) + ":name";
        std::lock_guard<std::mutex> held(lock);
        auto found = cache.find(key);
        if (found != cache.end()) {
            hits += found->second.size();
        } else {
            misses++;
            cache.emplace(key, "value of " + key);
        }
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 40000;
    std::thread a(work, 1, rounds), b(work, 2, rounds);
    a.join(), b.join();
    printf("%ld %ld %zu\n", hits, misses, cache.size());
}
