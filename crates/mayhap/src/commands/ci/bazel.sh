printf '%s\n' '#!/bin/sh' 'exec mayhap record --finish -o "$TEST_UNDECLARED_OUTPUTS_DIR/trace.mhp" -- "$@"' > record-test.sh
chmod +x record-test.sh
bazel test //... --repo_env=CC=mayhap-cc --repo_env=CXX=mayhap-c++ --copt=-g --nozip_undeclared_test_outputs \
  --run_under="$PWD/record-test.sh" --cache_test_results=no --keep_going || echo "some tests failed"
mkdir -p traces
(cd -P bazel-testlogs && find . -name trace.mhp) | while read -r trace; do
  mkdir -p "traces/$(dirname "$trace")"
  cp "bazel-testlogs/$trace" "traces/$trace"
done
