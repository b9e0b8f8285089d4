// Threads hold one object; the count is safe, the tally beside it is not.
#include <memory>
#include <string>
#include <thread>

struct Document {
    std::string title = "shared";
};

int tally;

void work(std::shared_ptr<Document> document) {
    tally += (int)document->title.size();
    std::shared_ptr<Document> again = document;
    std::weak_ptr<Document> watch = again;
}

int main() {
    auto document = std::make_shared<Document>();
    std::thread a(work, document), b(work, document);
    document.reset();
    a.join();
    b.join();
}
