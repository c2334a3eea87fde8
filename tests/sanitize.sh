#!/usr/bin/env bash
# Runs the simulator's tests against a core built with the address and undefined-behaviour sanitizers.
# The package is laid out once more under build/sanitized, so that the ordinary build stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
python="$PWD/.venv/bin/python"
target=build/sanitized
cmake -S simulator -B build/sanitize -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DAUTOCOMP_SANITIZE=ON \
  -DPython_EXECUTABLE="$python" >/dev/null
cmake --build build/sanitize
rm -rf "$target"
mkdir -p "$target"
cp -rp autocomp "$target/"
cp -rp simulator "$target/autocomp/"
cp -p build/sanitize/_core*.so "$target/autocomp/simulator/"
ln -s "$PWD"/isa "$PWD"/menus "$PWD"/workloads "$PWD"/schedules "$PWD"/tests "$PWD"/benchmarks "$PWD"/pyproject.toml "$target/"
libraries=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
compiler=${CXX:-g++}
cd "$target"
# -S keeps the editable install's import hook away; leaks are CPython's own and not looked for. Instrumented code is slow: the
# profile has no deadline for an example.
LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONPATH=".:$libraries" \
  "$python" -S -m pytest -q -p no:cacheprovider --hypothesis-profile ci -m "not packaging and not long" tests/simulator tests/timing tests/isa/ "$@"
