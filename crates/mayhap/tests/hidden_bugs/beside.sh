#!/bin/bash
# What others see of these programs: how often the bug shows in plain runs, and what libtsan and helgrind report in one run,
# on the program and on its twin. Prints rows of a Markdown table.
#   beside.sh [RUNS] [NAME...]         default: 1000 runs of every program
cd "$(dirname "$0")" || exit 2
runs=${1:-1000}
shift
names=("$@")
if [ ${#names[@]} = 0 ]; then
    for file in *_fixed.*; do names+=("${file%_fixed.*}"); done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() { # FILE OUT FLAGS...
    local file=$1 out=$2
    shift 2
    case $file in
    *.c) gcc -std=gnu11 -g -O1 -pthread "$@" "$file" -o "$out" ;;
    *.cpp) g++ -std=c++17 -g -O1 -pthread "$@" "$file" -o "$out" ;;
    *.rs)
        # Some use other crates: they are binaries of a package.
        local target=x86_64-unknown-linux-gnu flags=-g
        [ $# = 0 ] || flags="-g -Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
        RUSTC_BOOTSTRAP=1 RUSTFLAGS=$flags cargo build -q --manifest-path ../../../mayhap-rt/tests/rust/Cargo.toml \
            --features hidden_bugs --bin "${file%.rs}" --target $target --target-dir "$work/rust$#" &&
            cp "$work/rust$#/$target/debug/${file%.rs}" "$out"
        ;;
    esac 2>/dev/null
}

failures() { # PROGRAM: of all runs, those that fail, crash or hang
    : >"$work/failed"
    for ((run = 0; run < runs; run++)); do
        [ $run -lt 4 ] || wait -n
        { timeout 5 "$1" >/dev/null 2>&1 || echo x >>"$work/failed"; } &
    done 2>/dev/null
    wait
    wc -l <"$work/failed"
}

tsan() { # FILE
    compile "$1" "$work/tsan" -fsanitize=thread || { echo "not built"; return; }
    timeout 60 "$work/tsan" 2>&1 | sed -n 's/^WARNING: ThreadSanitizer: \([a-z -]*[a-z]\).*/\1/p' | sort | uniq -c | summary
}

helgrind() { # PROGRAM
    timeout 120 valgrind --tool=helgrind "$1" 2>&1 |
        sed -n 's/.*\(Possible data race\|lock order .* violated\|exiting thread still holds\).*/\1/p' |
        sed 's/Possible data race/data race/; s/lock order.*/lock order/' | sort | uniq -c | summary
}

summary() { awk '{n=$1; $1=""; s=s sep n $0; sep=", "} END {print s == "" ? "–" : s}'; }

for name in "${names[@]}"; do
    file=$(ls "$name".c "$name".cpp "$name".rs 2>/dev/null)
    twin=${name}_fixed.${file##*.}
    kind=$(sed -n 's|^// kind: ||p' "$file")
    compile "$file" "$work/bug" && compile "$twin" "$work/twin" || { echo "$name does not compile" >&2; continue; }
    echo "| $name | $kind | $(failures "$work/bug") | $(tsan "$file") | $(helgrind "$work/bug") | $(tsan "$twin") | $(helgrind "$work/twin") |"
done
