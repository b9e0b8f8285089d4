// Races that the program says are meant, and accesses that it does not want looked at.
#include <pthread.h>
#include <stdlib.h>

void AnnotateBenignRaceSized(const char *, int, const volatile void *, long, const char *);
void WTFAnnotateBenignRaceSized(const char *, int, const volatile void *, long, const char *);
void AnnotateIgnoreReadsBegin(const char *, int);
void AnnotateIgnoreReadsEnd(const char *, int);
void AnnotateRWLockCreate(const char *, int, const volatile void *);
void AnnotateRWLockAcquired(const char *, int, const volatile void *, long);
void AnnotateRWLockReleased(const char *, int, const volatile void *, long);

int hits, misses, seen, guarded;
volatile int word;

static void take(void) {
    while (__atomic_exchange_n(&word, 1, __ATOMIC_RELAXED)) {}
    AnnotateRWLockAcquired(__FILE__, __LINE__, &word, 1);
}

static void give(void) {
    AnnotateRWLockReleased(__FILE__, __LINE__, &word, 1);
    __atomic_store_n(&word, 0, __ATOMIC_RELAXED);
}

static void *first(void *arg) {
    hits++;
    misses++;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    int now = seen;
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    take();
    guarded += now > 9;
    give();
    return arg;
}

static void *second(void *arg) {
    hits++;
    misses++;
    seen = 1;
    take();
    guarded++;
    give();
    return arg;
}

int main(void) {
    AnnotateBenignRaceSized(__FILE__, __LINE__, &hits, sizeof hits, "a rough count");
    WTFAnnotateBenignRaceSized(__FILE__, __LINE__, &misses, sizeof misses, "a rough count");
    AnnotateRWLockCreate(__FILE__, __LINE__, &word);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
