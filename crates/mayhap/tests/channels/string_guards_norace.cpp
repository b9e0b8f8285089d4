// A thread reads data only if what it finds in a string says that another thread has published it. Without optimisation each question is
// a call of a function of the string.
// flags: -O0
#include <cstdio>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>

std::mutex lock;
std::string text;
std::wstring wide;
std::istringstream words("one");
int sized, full, indexed, front, found, any_of, compared, cut, widened, walked, ended;

void publish() {
    sized = full = indexed = front = found = any_of = compared = cut = widened = walked = ended = 1;
    std::lock_guard<std::mutex> guard(lock);
    text = "ready";
    wide = L"ready";
    std::string word, none;
    words >> word >> none;
}

void look() {
    usleep(100000);
    std::lock_guard<std::mutex> guard(lock);
    if (text.size() == 5) printf("%d\n", sized);
    if (!text.empty()) printf("%d\n", full);
    if (text[0] == 'r') printf("%d\n", indexed);
    if (text.begin() != text.end() && *text.begin() == 'r') printf("%d\n", walked);
    if (text.c_str()[1] == 'e') printf("%d\n", front);
    if (text.find(std::string("ead")) == 1) printf("%d\n", found);
    if (text.find_first_of("xy") == 4) printf("%d\n", any_of);
    if (text.compare(0, 2, "re") == 0) printf("%d\n", compared);
    if (text.substr(0, 2) == "re") printf("%d\n", cut);
    if (wide.length() == 5) printf("%d\n", widened);
    if (words.eof()) printf("%d\n", ended);
}

int main() {
    std::thread a(publish), b(look);
    a.join();
    b.join();
}
