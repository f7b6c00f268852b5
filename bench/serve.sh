#!/usr/bin/env bash
# `weft serve` with many clients: 100 that listen to the event stream and ask the API ten times a second, 20 that connect
# and read nothing, and runs started through the API all the while. Prints answers, errors, latency, the server's
# memory with its growth, and how long a run took without clients and beside them. The status is 1 when a request or a
# run failed or a stream was lost.
# Usage: bench/serve.sh [BUILD_DIRECTORY [SECONDS]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build} seconds=${2:-60}
weft=$(realpath "$build/weft")
load=$(realpath "$build/weft_serve_load")
place=$(mktemp -d)
"$weft" serve "$place" --port 0 --tasks 1 >"$place/../${place##*/}.address" 2>&1 &
server=$!
end() {
  kill -INT "$server" 2>/dev/null || true
  wait "$server" || true
  rm -rf "$place" "$place/../${place##*/}.address"
}
trap end EXIT
for ((i = 0; i < 100; ++i)); do
  address=$(grep -o 'http://[^ ]*[0-9]' "$place/../${place##*/}.address" || true)
  [[ -n $address ]] && break
  sleep 0.1
done

# Starts a run, waits for its end, prints its seconds from the request on.
run_once() {
  local start id state
  start=$(date +%s.%N)
  id=$(curl -sf -H 'Content-Type: application/json' -d '{"lab": "fabric/incast-ecn.yaml"}' "$address/api/tasks" |
    grep -o '"id":[0-9]*' | cut -d: -f2)
  while state=$(curl -sf "$address/api/tasks/$id" | grep -o '"state":"[a-z]*"'); [[ $state != *done* ]]; do
    [[ -z $state || $state == *failed* || $state == *cancelled* ]] && { echo failed; return 1; }
    sleep 0.05
  done
  awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN {printf "%.2f\n", b - a}'
}
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

alone=$(for ((i = 0; i < 5; ++i)); do run_once; done | tee "$place/alone" | median)
"$load" "${address##*:}" "$server" 100 20 "$seconds" &
clients=$!
beside=$(while kill -0 "$clients" 2>/dev/null; do run_once; done | tee "$place/times" | median)
status=0
wait "$clients" || status=$?
grep -hx failed "$place/alone" "$place/times" && { echo "a run failed" >&2; status=1; }
echo "runs of incast-ecn: $(wc -l <"$place/times") beside the clients, median $beside s; $alone s without"
exit "$status"
