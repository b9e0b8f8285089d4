// Virtual calls: two threads evaluate shared expression trees, which are built before them, over variables of their own.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Expression {
    virtual ~Expression() = default;
    virtual long value(const long *variables) const = 0;
};
using Part = std::unique_ptr<Expression>;
struct Number : Expression {
    long number;
    explicit Number(long n) : number(n) {}
    long value(const long *) const override { return number; }
};
struct Variable : Expression {
    int index;
    explicit Variable(int i) : index(i) {}
    long value(const long *variables) const override { return variables[index]; }
};
struct Sum : Expression {
    Part a, b;
    Sum(Part x, Part y) : a(std::move(x)), b(std::move(y)) {}
    long value(const long *v) const override { return a->value(v) + b->value(v); }
};
struct Product : Expression {
    Part a, b;
    Product(Part x, Part y) : a(std::move(x)), b(std::move(y)) {}
    long value(const long *v) const override { return a->value(v) * b->value(v) % 1000003; }
};

static Part build(int depth, unsigned seed) {
    if (depth == 0)
        return seed % 3 ? Part(new Variable(seed % 8)) : Part(new Number(seed % 100));
    Part a = build(depth - 1, seed * 5 + 1), b = build(depth - 1, seed * 7 + 3);
    return seed % 2 ? Part(new Sum(std::move(a), std::move(b))) : Part(new Product(std::move(a), std::move(b)));
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 600;
    Part tree = build(9, 12345);
    long total = 0;
    std::mutex lock;
    auto work = [&](int me) {
        std::vector<long> variables(8);
        for (int i = 0; i < rounds; i++) {
            for (int j = 0; j < 8; j++)
                variables[j] = i * 8 + j + me;
            long value = tree->value(variables.data());
            std::lock_guard<std::mutex> held(lock);
            total += value;
        }
    };
    std::thread a(work, 0), b(work, 1);
    a.join(), b.join();
    printf("%ld\n", total);
}
