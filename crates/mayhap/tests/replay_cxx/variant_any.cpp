// Values of several types in one place.
#include <any>
#include <optional>
#include <string>
#include <thread>
#include <variant>

int tally;

void work() {
    std::variant<int, std::string> either = std::string("text");
    std::any anything = std::string("anything at all");
    std::optional<int> maybe;
    int size = std::visit([](auto &v) { return (int)sizeof v; }, either);
    if (!maybe) maybe = (int)std::any_cast<std::string &>(anything).size();
    try {
        std::get<int>(either);
    } catch (const std::bad_variant_access &) {
        tally += size + *maybe;
    }
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
