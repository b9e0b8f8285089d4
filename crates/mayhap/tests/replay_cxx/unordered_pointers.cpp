// A hash table with addresses as keys; what is done follows its order.
#include <mutex>
#include <thread>
#include <unordered_set>

struct Account {
    std::mutex lock;
    int amount = 1;
};

int tally;

void work() {
    std::unordered_set<Account *> all;
    for (int i = 0; i < 8; i++) all.insert(new Account);
    int sum = 0;
    for (Account *account : all) {
        std::lock_guard<std::mutex> hold(account->lock);
        sum += account->amount;
    }
    for (Account *account : all) delete account;
    tally += sum;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
}
