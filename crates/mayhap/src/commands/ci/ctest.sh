cmake -B build -DCMAKE_C_COMPILER=mayhap-cc -DCMAKE_CXX_COMPILER=mayhap-c++ -DCMAKE_BUILD_TYPE=RelWithDebInfo
cmake --build build
mkdir -p traces
ctest --test-dir build --show-only=json-v1 | jq -r '.tests[] | [.name, (.command | @sh)] | @tsv' > tests.tsv
while IFS="$(printf '\t')" read -r name command; do
  eval "mayhap record --finish -o \"traces/\$name.mhp\" -- $command" < /dev/null || echo "$name: failed, or not recorded"
done < tests.tsv
