#!/usr/bin/env bash
# Builds Pontage and runs every test, on Debian 12: tests/run.sh [--quick | --long]
#   --quick  no sanitizer builds, no fuzzing, no real peers: a few minutes
#   --long   the same stages as without, with more requests and longer fuzzing
# Installs the Debian packages that are missing (as root or through sudo). One build at a time; every stage says how long
# it took; the last line is the sum of all tests. Exit 0 when nothing failed.
set -euo pipefail
cd "$(dirname "$0")/.."
source deploy/build-deps.sh

mode=normal
for option in "$@"; do
  case $option in
    --quick) mode=quick ;;
    --long) mode=long ;;
    *) echo "usage: tests/run.sh [--quick | --long]" >&2; exit 2 ;;
  esac
done

readonly kTestPackages=(
  clang-format-14 python3 python3-pytest python3-pytest-xdist python3-yaml git curl openssl apache2-utils strace systemd python3-h2 python3-hyperframe nghttp2-client
)
readonly kPeerPackages=(clang-14 libclang-rt-14-dev nginx-light tomcat10 default-jdk-headless php8.2-fpm uwsgi-core uwsgi-plugin-python3 fcgiwrap haproxy)
readonly kTsanSuites=(unit_net unit_upstream unit_observe unit_cache unit_origin unit_handlers_files)
readonly kJobs=$(nproc)
readonly kPython=/usr/bin/python3

fuzz_seconds=12
export PONTAGE_LONG=
if [ "$mode" = long ]; then fuzz_seconds=300 PONTAGE_LONG=1; fi
export PYTHONDONTWRITEBYTECODE=1
export CTEST_OUTPUT_ON_FAILURE=1
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1

passed=0 failed=0
failures=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Adds the counts of the stage's output. A stage that counts nothing itself is one test.
tally() {
  local name=$1 code=$2 sums good bad
  sums=$(awk '
    /[0-9]+% tests passed, [0-9]+ tests failed out of [0-9]+/ { n = $0; sub(/.*out of /, "", n); f = $0
      sub(/.*passed, /, "", f); good += n - f; bad += f + 0 }
    /^=* ?([0-9]+ [a-z]+,? ?)+ in [0-9.]+s/ { line = $0; gsub(/[=,]/, "", line); k = split(line, w, " ")
      for (i = 1; i < k; i++) { if (w[i + 1] == "passed") good += w[i]
        if (w[i + 1] ~ /^(failed|error|errors)$/) bad += w[i] } }
    END { print good + 0, bad + 0 }' "$log")
  read -r good bad <<<"$sums"
  if [ "$code" -eq 0 ] && [ $((good + bad)) -eq 0 ]; then good=1; fi
  if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  passed=$((passed + good)) failed=$((failed + bad))
  if [ "$bad" -ne 0 ]; then failures+=("$name"); fi
}

# stage NAME COMMAND...: runs it and counts; `went` says afterwards whether it passed. Never ends the script, and is never
# called inside a condition, where bash would ignore `set -e` in the stage itself.
went=yes
stage() {
  local name=$1 begin=$SECONDS code
  shift
  printf '\n=== %s\n' "$name"
  set +e
  (set -e; "$@") </dev/null 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  set -e
  tally "$name" "$code"
  went=$([ "$code" -eq 0 ] && echo yes || echo no)
  printf '=== %s: %s, %d s\n' "$name" "$([ "$code" -eq 0 ] && echo passed || echo "FAILED ($code)")" $((SECONDS - begin))
}

install() {
  local packages=("${BUILD_PACKAGES[@]}" "${kTestPackages[@]}")
  # Any nginx will do as a peer; two flavours cannot be installed at once.
  if [ "$mode" != quick ]; then
    local peers=("${kPeerPackages[@]}")
    if command -v nginx >/dev/null || [ -x /usr/sbin/nginx ]; then peers=("${peers[@]/nginx-light/}"); fi
    packages+=(${peers[@]})
  fi
  install_packages "${packages[@]}"
}

format() {
  git -c safe.directory='*' ls-files -z -- '*.h' '*.cc' | xargs -0 clang-format-14 --dry-run --Werror
}

pytests() {
  "$kPython" -m pytest -q -p no:cacheprovider --color=no -rs "$@"
}

# The same, files side by side: their tests mostly wait, and each has processes and ports of its own.
parallel_pytests() { pytests -n "$kJobs" --dist=loadfile "$@"; }

build() {
  local preset=$1
  shift
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" -j "$kJobs" ${@:+--target "$@"}
}

# The certificate that conf/tls.yaml speaks of is made here, beside a copy of it.
examples() {
  local file folder
  folder=$(mktemp -d)
  cp -r conf/. "$folder"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=localhost \
    -keyout "$folder/site.key" -out "$folder/site.pem" 2>/dev/null
  for file in conf/*.yaml; do
    echo "check $file"
    AJP_SECRET=example build/release/pontage check -c "$folder/${file#conf/}"
  done
  rm -r "$folder"
  build/release/pontage schema | diff -u conf/pontage.schema.json -
}

tsan() {
  local suite suites=()
  for suite in "${kTsanSuites[@]}"; do
    if compgen -G "tests/unit/${suite#unit_}/*.cc" >/dev/null; then suites+=("$suite"); fi
  done
  build tsan pontage "${suites[@]}"
  # setarch: ThreadSanitizer of g++ 12 cannot live with as much address randomisation as newer kernels use.
  local fixed=()
  if setarch -R true 2>/dev/null; then fixed=(setarch -R); fi
  "${fixed[@]}" ctest --preset tsan -R "^($(IFS='|'; echo "${suites[*]}"))\$" --no-tests=error
  # Where workers meet: pools, reload and drain. The rest runs under the other sanitizers.
  PONTAGE_BIN=build/tsan/pontage "${fixed[@]}" "$kPython" -m pytest -q -n "$kJobs" --dist=loadfile -p no:cacheprovider \
    --color=no -m smoke tests/integration/test_pool.py tests/integration/test_lifecycle.py tests/integration/test_metrics.py \
    tests/integration/test_files.py
}

fuzz_one() {
  local entry=$1 name corpus seeds=()
  name=$(basename "$entry" .cc)
  corpus="build/fuzz/corpus/$name"
  mkdir -p "$corpus"
  if [ -d "tests/fuzz/corpus/$name" ]; then seeds+=("tests/fuzz/corpus/$name"); fi
  echo "fuzz $name for $fuzz_seconds s"
  "build/fuzz/$name" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
    -artifact_prefix="build/fuzz/$name-" "$corpus" "${seeds[@]}"
}

fuzz() {
  build fuzz
  export fuzz_seconds
  export -f fuzz_one
  printf '%s\n' tests/fuzz/fuzz_*.cc | xargs -P "$kJobs" -I{} bash -c 'set -euo pipefail; fuzz_one {}'
}

asan() {
  build asan
  ctest --preset asan -j "$kJobs"
}

asan_integration() { PONTAGE_BIN=build/asan/pontage parallel_pytests -m smoke tests/integration; }

finish() {
  printf '\n'
  if [ "${#failures[@]}" -ne 0 ]; then printf 'failed: %s\n' "${failures[@]}"; fi
  printf 'total time: %d s\n' "$SECONDS"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

stage "packages" install
if [ "$went" = no ]; then finish; exit 1; fi
stage "format" format
stage "release build" build release
if [ "$went" = yes ]; then
  stage "layout and documents" pytests tests/layout
  stage "unit tests" ctest --preset release -j "$kJobs"
  stage "configuration examples" examples
  stage "integration" parallel_pytests tests/integration
  if [ "$mode" != quick ]; then stage "real peers" pytests tests/interop; fi
fi
if [ "$mode" != quick ]; then
  stage "address and undefined behaviour sanitizers" asan
  if [ "$went" = yes ]; then stage "integration under sanitizers" asan_integration; fi
  stage "thread sanitizer" tsan
  stage "fuzzing" fuzz
fi
finish
