// kind: race
// bug: the writer looks for readers before it announces itself
// expect: price
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>

static std::atomic<int> readers{0};
static std::atomic<bool> writing{false};
static int price = 1;

static int read_price() {
    for (;;) {
        readers.fetch_add(1);
        if (!writing.load()) break;
        readers.fetch_sub(1);
    }
    int seen = price;
    readers.fetch_sub(1);
    return seen;
}

static void write_price(int value) {
#ifdef FIXED
    while (writing.exchange(true)) {
    }
    while (readers.load() != 0) {
    }
#else
    while (readers.load() != 0) {
    }
    while (writing.exchange(true)) {
    }
#endif
    price = value;
    writing.store(false);
}

int main() {
    std::thread writer(write_price, 2);
    std::thread reader([] {
        usleep(30000);
        if (read_price() == 0) std::puts("for nothing");
    });
    writer.join();
    reader.join();
    return 0;
}
