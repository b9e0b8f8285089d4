// The C library's own lines: fopen, fgets, getline.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

int tally;

void work() {
    FILE *file = std::tmpfile();
    std::fputs("alpha\nbeta\n", file);
    std::rewind(file);
    char line[64], *longer = nullptr;
    size_t room = 0;
    if (!std::fgets(line, sizeof line, file) || getline(&longer, &room, file) < 0) std::abort();
    int length = (int)(std::strlen(line) + std::strlen(longer));
    std::free(longer);
    std::fclose(file);
    tally += length;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
