#!/usr/bin/env bash
# From a fresh Debian 12 to a running site: installs what the build needs, builds Pontage, starts the reference
# application server and the gateway with conf/quickstart.yaml, and runs until Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/.."
source deploy/build-deps.sh

readonly kBinary=build/release/pontage
readonly kConfig=conf/quickstart.yaml
readonly kHttp=127.0.0.1:18080 kAjp=127.0.0.1:18009  # where conf/quickstart.yaml looks for the application server
readonly kReadyDeadline=20                           # seconds

pids=()
run_dir=$(mktemp -d)

stop_all() {
  trap - EXIT INT TERM
  local pid
  # The gateway first: it drains while its server still answers.
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    pid=${pids[i]}
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$run_dir"
}
trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start NAME COMMAND...: starts it in the background and waits until it says "ready" on its descriptor 3.
start() {
  local name=$1 ready="$run_dir/$1.ready" waited=0
  shift
  "$@" --ready-fd 3 3>"$ready" </dev/null &
  local pid=$!
  pids+=("$pid")
  while ! grep -q . "$ready" 2>/dev/null; do
    if ! kill -0 "$pid" 2>/dev/null; then
      wait "$pid" && code=0 || code=$?
      echo "quickstart: $name ended with exit code $code (is one of its ports taken?)" >&2
      exit 1
    fi
    if [ "$waited" -ge $((kReadyDeadline * 10)) ]; then
      echo "quickstart: $name is not ready after $kReadyDeadline s" >&2
      exit 1
    fi
    sleep 0.1
    waited=$((waited + 1))
  done
}

install_packages "${BUILD_PACKAGES[@]}" curl
cmake --preset release
cmake --build build/release --target pontage -j "$(nproc)"
"$kBinary" check -c "$kConfig"

start "application server" "$kBinary" origin --http "$kHttp" --ajp "$kAjp" --route a
start gateway "$kBinary" run -c "$kConfig"

cat <<TEXT

Pontage runs with $kConfig:
  http://localhost:8080/           a static site, from conf/site
  http://localhost:8080/app/...    the reference application server ($kAjp) over pooled AJP
  http://localhost:8080/http/...   the same ($kHttp) over pooled HTTP/1.1
  http://127.0.0.1:9145/metrics    what every crossing cost

Try:
  curl -i http://localhost:8080/
  curl http://localhost:8080/app/info
  curl -s http://127.0.0.1:9145/metrics | grep pontage_toll_seconds_sum

Ctrl-C ends all of it.
TEXT

# Whichever ends first ends the other.
wait -n "${pids[@]}" && code=0 || code=$?
exit "$code"
