#include <string>
#include <thread>
#include <unordered_map>
#include <algorithm>
#include <vector>
#include <mutex>
#include <cstdio>
// Two accounts whose locks are taken in opposite orders, and a name that is changed while it is read.
struct Account { std::mutex lock; int balance = 100; std::string owner = "somebody with a long name"; };
void transfer(Account &from, Account &to, int amount) {
    std::lock_guard<std::mutex> first(from.lock);
    std::lock_guard<std::mutex> second(to.lock);
    from.balance -= amount;
    to.balance += amount;
}
int main() {
    std::unordered_map<int, Account> accounts;
    accounts[1]; accounts[2];
    std::thread a([&] { transfer(accounts[1], accounts[2], 5); accounts[1].owner = "another person altogether"; });
    std::thread b([&] { transfer(accounts[2], accounts[1], 7); std::printf("%d\n", accounts[1].owner.size() > 3); });
    a.join();
    b.join();
    std::vector<int> all;
    for (auto &[id, account] : accounts) all.push_back(account.balance);
    std::sort(all.begin(), all.end());
    return all.size() == 2 ? 0 : 1;
}
