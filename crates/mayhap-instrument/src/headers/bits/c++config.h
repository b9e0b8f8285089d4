// Stands in front of the C++ library's own settings. Strings are compiled with the program, as they are from C++20 on: what the
// library's object code does to them has no hooks.
#include_next <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
