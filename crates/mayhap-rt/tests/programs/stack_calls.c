// Calls that begin and end in every way C has.
// stack: main.1 w recursed: step (inlined) < count < descend < descend < descend < worker
// stack: main.1 w after_recursion: worker
// stack: main.1 w before_jump: jump < jump < jump < jumps < worker
// stack: main.1 w after_jump: jumps < worker
// stack: main.1 w after_jumps: again < worker
// stack: main.1 w deep: dive < [at least 1024 more calls] < dive < dive < dive
// stack: main.1 w after_deep: worker
// stack: main.1 w handled: handler < ... < worker
// stack: main.1 w left_handler: handler < ... < worker
// stack: main.1 w after_escape: escapes < worker
// stack: main.1 w pointed: through < worker
// stack: main.1 w at_end: cleanup < destroys
// stack: main fork main.1: start < main
// stack: main w by_main: main
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

long recursed, after_recursion, before_jump, after_jump, after_jumps, deep, after_deep, handled, left_handler;
long after_escape, pointed, at_end, by_main;

#define NOINLINE __attribute__((noinline, noclone))

static jmp_buf target;
static sigjmp_buf escape;
static pthread_key_t key;

static inline __attribute__((always_inline)) void step(long *p) { *p = 1; }

NOINLINE void count(long *p) {
    step(p);
}

NOINLINE void descend(int n) {
    if (n > 0)
        descend(n - 1);
    else
        count(&recursed);
    __asm__ volatile("");
}

NOINLINE void jump(int n) {
    if (n == 0) {
        before_jump = 1;
        longjmp(target, 1);
    }
    jump(n - 1);
    __asm__ volatile("");
}

NOINLINE void jumps(void) {
    if (setjmp(target) == 0)
        jump(2);
    after_jump = 1;
}

NOINLINE void again(void) {
    after_jumps = 1;
}

NOINLINE void dive(int n) {
    if (n > 0)
        dive(n - 1);
    else
        deep = 1;
    __asm__ volatile("");
}

NOINLINE void handler(int signal) {
    if (signal == SIGUSR1) {
        handled = 1;
    } else {
        left_handler = 1;
        siglongjmp(escape, 1);
    }
}

NOINLINE void raises(void) {
    raise(SIGUSR1);
}

NOINLINE void escapes(void) {
    if (sigsetjmp(escape, 1) == 0)
        raise(SIGUSR2);
    after_escape = 1;
}

NOINLINE void through(void) {
    pointed = 1;
}

void (*volatile pointer)(void) = through;

NOINLINE void cleanup(void) {
    at_end = 1;
}

void destroys(void *value) {
    (void)value;
    cleanup();
}

void *worker(void *argument) {
    descend(2);
    after_recursion = 1;
    for (int i = 0; i < 50; i++)
        jumps();
    again();
    dive(32768 + 1500);
    after_deep = 1;
    raises();
    escapes();
    pointer();
    pthread_setspecific(key, argument);
    return argument;
}

// Touches everything at no particular time.
void *other(void *argument) {
    recursed = after_recursion = before_jump = after_jump = after_jumps = deep = after_deep = handled = 2;
    left_handler = after_escape = pointed = at_end = by_main = 2;
    return argument;
}

NOINLINE void start(pthread_t *thread, pthread_attr_t *attributes) {
    pthread_create(thread, attributes, worker, thread);
}

int main(void) {
    pthread_t a, b;
    pthread_attr_t attributes;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    pthread_key_create(&key, destroys);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    start(&a, &attributes);
    pthread_create(&b, NULL, other, NULL);
    by_main = 1;
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
