// kind: use-after-free
// effect: use after free
// findings: 1
// bug: the walker gives the lock up to serve an entry and then goes on from that entry, which may be gone
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

struct Hook { Hook *next, *prev; };
struct Job : Hook { int id; int runs = 0; int pins = 0; bool gone = false; };

static std::mutex m;
static Hook head{&head, &head};

static void link(Hook *h) { h->prev = head.prev; h->next = &head; head.prev->next = h; head.prev = h; }
static void unlink(Hook *h) { h->prev->next = h->next; h->next->prev = h->prev; }

static void serve(int id) { std::printf("job %d\n", id); }

static void walk() {
    std::unique_lock<std::mutex> lk(m);
    for (Hook *h = head.next; h != &head;) {
        Job *j = static_cast<Job *>(h);
        int id = j->id;
#ifdef FIXED
        j->pins++;
#endif
        lk.unlock();
        serve(id);
        lk.lock();
        h = h->next;
#ifdef FIXED
        if (--j->pins == 0 && j->gone) {
            unlink(j);
            delete j;
        }
#endif
    }
}

static void drop(int id) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::lock_guard<std::mutex> lk(m);
    for (Hook *h = head.next; h != &head; h = h->next) {
        Job *j = static_cast<Job *>(h);
        if (j->id != id) continue;
#ifdef FIXED
        if (j->pins) { j->gone = true; return; }
#endif
        unlink(j);
        delete j;
        return;
    }
}

int main() {
    for (int i = 1; i <= 3; i++) {
        Job *j = new Job;
        j->id = i;
        link(j);
    }
    std::thread a(walk), b(drop, 2);
    a.join();
    b.join();
    return 0;
}
