cmake -B build -DCMAKE_C_COMPILER=mayhap-cc -DCMAKE_CXX_COMPILER=mayhap-c++ -DCMAKE_BUILD_TYPE=RelWithDebInfo
cmake --build build
mayhap test -o traces -- ctest --test-dir build || echo "some tests failed, or were not recorded"
