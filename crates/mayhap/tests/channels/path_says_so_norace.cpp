// A path, a hash table's key and a number in a text say whether another thread has published something. The C++ library looks at them in its own
// object code.
// standard: c++20
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

static std::mutex lock;
static std::filesystem::path path;
static std::unordered_map<std::string, int> names;
static std::string number;
static int in_path, in_table, in_number;

static bool is_number() {
    double found = 0;
    std::from_chars(number.data(), number.data() + number.size(), found);
    return found == 1.25;
}

template <class Found> static void await(Found found) {
    for (;;) {
        {
            std::lock_guard guard(lock);
            if (found()) return;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
}

int main() {
    std::thread writer([] {
        in_path = 1;
        { std::lock_guard guard(lock); path /= "ready"; }
        in_table = 1;
        { std::lock_guard guard(lock); names["ready"] = 1; }
        in_number = 1;
        { std::lock_guard guard(lock); number = "1.25"; }
    });
    std::thread reader([] {
        await([] { return path.has_filename(); });
        in_path++;
        await([] { return names.contains("ready"); });
        in_table++;
        await(is_number);
        in_number++;
    });
    writer.join();
    reader.join();
    std::cout << in_path + in_table + in_number << "\n";
}
