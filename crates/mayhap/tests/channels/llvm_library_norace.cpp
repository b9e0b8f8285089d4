// LLVM's C++ library: a thread reads data only if a string, a tree, a list or a pointer says that another thread has published it.
// compiler: clang
// flags: -stdlib=libc++
// needs: libc++
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
std::mutex lock;
std::string text;
std::map<int,int> tree;
std::list<int> list;
std::shared_ptr<int> shared;
int behind_size, behind_tree, behind_list, behind_pointer, behind_find;
int main() {
    std::thread a([] {
        behind_size = behind_tree = behind_list = behind_pointer = behind_find = 1;
        std::lock_guard<std::mutex> guard(lock);
        text = "ready steady go, a long text indeed that is more than that";
        for (int i = 0; i < 10; i++) tree[i] = i;
        list.push_back(3);
        list.reverse();
        shared = std::make_shared<int>(3);
    });
    std::thread b([] {
        usleep(100000);
        std::lock_guard<std::mutex> guard(lock);
        if (text.size() > 5) printf("%d\n", behind_size);
        if (tree.count(7)) printf("%d\n", behind_tree);
        if (!list.empty() && list.front() == 3) printf("%d\n", behind_list);
        if (shared && *shared == 3) printf("%d\n", behind_pointer);
        if (text.find("steady") == 6) printf("%d\n", behind_find);
    });
    a.join();
    b.join();
}
