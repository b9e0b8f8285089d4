// A tree, a list and a string that several threads change and walk under one lock.
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <cstdlib>

std::mutex m;
std::map<std::string, int> words;
std::list<std::string> lines;
std::string all;

static void work(int from) {
    for (int i = from; i < from + 12; i++) {
        std::lock_guard lock(m);
        words["word number " + std::to_string(i % 9)]++;
        lines.push_back(std::to_string(i));
        if (i % 3 == 0) lines.pop_front();
        if (i % 5 == 0) words.erase(words.begin());
        all += "some more text";
        all += 'x';
    }
}

int main() {
    std::thread a(work, 0), b(work, 20);
    for (int i = 0; i < 4; i++) {
        std::lock_guard lock(m);
        int n = 0;
        for (auto &[word, count] : words) n += count + int(word.size());
        if (n < 0) std::abort();
    }
    a.join();
    b.join();
    if (words.empty() || lines.empty() || all.size() != 24 * 15) std::abort();
}
