make CC="mayhap cc" CXX="mayhap c++" tests
mkdir -p traces
mayhap record --finish -o traces/tests.mhp -- ./tests || echo "the tests failed"
