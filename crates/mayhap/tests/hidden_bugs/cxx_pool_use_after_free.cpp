// kind: race
// bug: a session is taken out of the pool and deleted while a request still writes to it
// expect: heap
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

struct Session {
    int bytes = 0;
};
static std::mutex pool;
static Session *current;
static int requests, expired;

static void request() {
    Session *session;
    {
        std::lock_guard<std::mutex> hold(pool);
        session = current;
    }
    session->bytes += 100;
    std::lock_guard<std::mutex> hold(pool);
    requests++;
}

static void expire() {
    Session *old, *fresh = new Session;
    {
        std::lock_guard<std::mutex> hold(pool);
        old = current;
        current = fresh;
        expired++;
    }
    delete old;
}

int main() {
    current = new Session;
    std::thread client(request);
    std::thread reaper([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        expire();
    });
    client.join();
    reaper.join();
    std::printf("%d requests, %d expired\n", requests, expired);
    delete current;
    return 0;
}
