// Objects of different classes do the work.
#include <memory>
#include <thread>
#include <typeinfo>
#include <vector>

int tally;

struct Shape {
    virtual ~Shape() = default;
    virtual int corners() const = 0;
};
struct Triangle : Shape {
    int corners() const override { return 3; }
};
struct Square : Shape {
    int corners() const override { return 4; }
};

void work() {
    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.push_back(std::make_unique<Triangle>());
    shapes.push_back(std::make_unique<Square>());
    int sum = 0;
    for (auto &shape : shapes) sum += shape->corners() + (dynamic_cast<Square *>(shape.get()) != nullptr);
    tally += sum;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
