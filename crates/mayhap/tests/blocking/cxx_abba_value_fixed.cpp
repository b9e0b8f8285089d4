#include <mutex>
#include <thread>
#include <unistd.h>

struct Account {
    std::mutex lock;
    int balance = 10;
};

static Account accounts[2];

static void transfer(Account &from, Account &to) {
    std::scoped_lock both(from.lock, to.lock);
    if (from.balance < 1)
        return;
    from.balance--;
    to.balance++;
}

int main() {
    std::thread there([] { transfer(accounts[0], accounts[1]); });
    usleep(10000);
    std::thread back([] { transfer(accounts[1], accounts[0]); });
    there.join();
    back.join();
}
