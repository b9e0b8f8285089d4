#include <stdexcept>
#include <string>
#include <thread>

static int parse(const std::string &text)
{
    if (text.empty())
        throw std::invalid_argument("nothing to parse");
    return std::stoi(text);
}

int main()
{
    std::thread thread([] { parse(""); });
    thread.join();
}
