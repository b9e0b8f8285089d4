// clean: locks and conditions lie on the stack and are destroyed at the end of each call; those of the next call lie at the same addresses,
// and their initialisers are assignments, some of them in code without hooks
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <thread>

__attribute__((noinline)) static int of_cxx(int amount) {
    std::mutex lock;
    std::condition_variable changed;
    int ready = 0;
    std::thread worker([&] {
        std::lock_guard<std::mutex> guard(lock);
        ready = amount;
        changed.notify_one();
    });
    {
        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [&] { return ready != 0; });
    }
    worker.join();
    return ready;
}

struct job {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_rwlock_t names;
    int done;
};

static void *work(void *argument) {
    job *mine = static_cast<job *>(argument);
    pthread_mutex_lock(&mine->lock);
    pthread_rwlock_rdlock(&mine->names);
    mine->done = 1;
    pthread_rwlock_unlock(&mine->names);
    pthread_cond_signal(&mine->changed);
    pthread_mutex_unlock(&mine->lock);
    return nullptr;
}

__attribute__((noinline)) static int of_c() {
    job mine = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER, 0};
    pthread_t worker;
    pthread_create(&worker, nullptr, work, &mine);
    pthread_mutex_lock(&mine.lock);
    while (!mine.done) pthread_cond_wait(&mine.changed, &mine.lock);
    pthread_mutex_unlock(&mine.lock);
    pthread_join(worker, nullptr);
    pthread_mutex_destroy(&mine.lock);
    pthread_cond_destroy(&mine.changed);
    pthread_rwlock_destroy(&mine.names);
    return mine.done;
}

int main() {
    int sum = 0;
    for (int i = 1; i < 4; i++) sum += of_cxx(i) + of_c();
    printf("%d\n", sum);
    return 0;
}
