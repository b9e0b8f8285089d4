// The same as stack_cxx, where nothing is inlined.
// level: -O0
// stack: main.1 w thrown: throws < throws < catches < work
// stack: main.1 w caught: catches < work
// stack: main.1 w in_lambda: ... < work
// stack: main.1 w in_method: Counter::add < work
// at: main.1 acq guard: work
// at: main.1 acq inner: Counter::locked
// at: main fork main.1: main
#include "stack_cxx.cpp"
