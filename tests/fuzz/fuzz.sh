#!/usr/bin/env bash
# Builds the native fuzzing targets with sanitizers and runs some of them on their kept inputs and on random changes.
#   tests/fuzz/fuzz.sh SECONDS TARGET...        SECONDS for each target: bytecode, tables, trace of the native core;
#                                               texts (see texts.py), files and answers (see files.py)
# With clang the native ones run under libFuzzer, otherwise under a plain driver. New inputs that reach new code are kept
# in build/fuzz/found/TARGET; the input of a finding is build/fuzz/crash-TARGET…, and if the process itself died,
# build/fuzz/present-TARGET. At the end the executions of all targets are added up.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1
shift
native=()
mkdir -p build/fuzz
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
total() { echo "$(grep -oE '[0-9]+ executions' "$counts" | awk '{ sum += $1 } END { print sum + 0 }') executions in all, no finding"; }
for target in "$@"; do
  case $target in
    bytecode | tables | trace) native+=("$target") ;;
    kernel | isa | trace-text | workload | schedule | yaml)
      .venv/bin/python -m tests.fuzz.texts "$target" "$seconds" | tee -a "$counts" ;;
    *) .venv/bin/python -m tests.fuzz.files "$target" "$seconds" | tee -a "$counts" ;;
  esac
done
[ ${#native[@]} -gt 0 ] || { total; exit 0; }
if command -v clang++ >/dev/null && echo 'int main(){}' | clang++ -x c++ -fsanitize=fuzzer-no-link,address - -o /dev/null 2>/dev/null; then
  compiler=clang++
else
  compiler=${CXX:-g++}
  echo "libFuzzer is not here: a plain driver with $compiler changes inputs at random instead." >&2
  echo "For coverage-guided fuzzing: apt-get install clang libclang-rt-dev (Debian, Ubuntu), dnf install clang compiler-rt (Fedora)" >&2
fi
build=$PWD/build/fuzz
PATH="$PWD/.venv/bin:$PATH"
cmake -S tests/fuzz -B "$build/$compiler" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DMACHINES="$build/machines" >/dev/null
cmake --build "$build/$compiler" | tail -1
python tests/fuzz/record.py "$build"
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for target in "${native[@]}"; do
  echo "--- $target: $seconds s"
  mkdir -p "$build/found/$target"
  cd "$build"
  "$build/$compiler/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=27000 -print_final_stats=1 \
    -artifact_prefix="crash-$target-" "found/$target" "seeds/$target" "$OLDPWD/tests/fuzz/corpus/$target" 2>"log-$target" \
    || { grep -v '^#' "log-$target" | tail -60 >&2; echo "the input is in $build/crash-*" >&2; exit 1; }
  number=$(grep -oE '^stat::number_of_executed_units: +[0-9]+' "log-$target" | grep -oE '[0-9]+$')
  cd "$OLDPWD"
  echo "$target: $number executions, no finding" | tee -a "$counts"
done
total
