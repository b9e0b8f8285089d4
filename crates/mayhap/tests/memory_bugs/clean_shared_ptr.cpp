// clean: shared_ptr owned by two threads
#include <memory>
#include <thread>

struct State {
    int value = 4;
};

int main() {
    auto state = std::make_shared<State>();
    std::thread a([state] { volatile int seen = state->value; (void)seen; });
    std::thread b([state] { volatile int seen = state->value; (void)seen; });
    state.reset();
    a.join();
    b.join();
    return 0;
}
