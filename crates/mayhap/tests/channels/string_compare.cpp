// A string is compared while another thread assigns to it.
// proven: state
#include <string>
#include <thread>
#include <cstdlib>

std::string state = "starting";

int main() {
    std::thread a([] { state.assign("finished"); });
    bool is_started = state.compare("started") == 0;
    a.join();
    if (is_started || state != "finished") std::abort();
}
