#!/usr/bin/env bash
# How fast programs run on the world, through the library and its rings, with Debian's ib_write_bw:
#   virtual time: messages in a second of wall time, and wall seconds for a virtual one. Two runs of different length;
#   what both have in common (start, connection, end) does not count.
#   wall clock:   bandwidth and message rate as ib_write_bw itself sees them, on a link that is not the limit.
# The world is one thread. Usage: bench/live.sh [BUILD_DIRECTORY]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
weft=${1:-build}/weft
seconds=3

XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR
end() {
  "$weft" down bench >"$XDG_RUNTIME_DIR/down" 2>&1 || true
  rm -rf "$XDG_RUNTIME_DIR"
}
trap end EXIT

# pair SERVER CLIENT ARGUMENTS…: the client's table goes to $XDG_RUNTIME_DIR/client.
pair() {
  local server=$1 client=$2 log=$XDG_RUNTIME_DIR/server i
  shift 2
  "$weft" exec "$server" -- ib_write_bw -F -x 3 "$@" >"$log" 2>&1 &
  local program=$!
  sleep 1  # it listens then, or the next try finds it
  for ((i = 0; i < 5; ++i)); do
    "$weft" exec "$client" -- ib_write_bw -F -x 3 "$@" "$server" >"$XDG_RUNTIME_DIR/client" 2>&1 && break
    sleep 1
  done
  wait "$program"
}
# row COLUMN: of the client's table: 3 peak, 4 average, 5 message rate in millions.
row() { awk -v column="$1" '$1 ~ /^[0-9]+$/ && NF == 5 {print $column}' "$XDG_RUNTIME_DIR/client" | tail -1; }
now() { date +%s.%N; }

# virtual SIZE SHORT LONG
virtual() {
  local size=$1 short=$2 long=$3 start middle finish
  start=$(now)
  pair vm00 vm01 -s "$size" -n "$short"
  middle=$(now)
  pair vm00 vm01 -s "$size" -n "$long"
  finish=$(now)
  awk -v size="$size" -v messages=$((long - short)) -v rate="$(row 5)" \
    -v start="$start" -v middle="$middle" -v finish="$finish" 'BEGIN {
      wall = (finish - middle) - (middle - start)
      printf "virtual  %7d B  %9.0f messages/s  %7.1f MB/s  %8.2f wall s for a virtual s\n",
        size, messages / wall, messages * size / wall / 1e6, wall / (messages / (rate * 1e6))
    }'
}
# wall SIZE
wall() {
  pair "$server" "$client" -s "$1" -D "$seconds"
  awk -v size="$1" -v rate="$(row 5)" \
    'BEGIN {printf "wall     %7d B  %9.0f messages/s  %7.1f MB/s\n", size, rate * 1e6, rate * size}'
}

"$weft" up labs/two-node-25g.yaml --name bench >"$XDG_RUNTIME_DIR/up"
# Up to 20,000 messages perftest looks for the peak among all pairs of them, which takes as long as the messages.
virtual 65536 21000 71000
virtual 2 25000 225000
"$weft" down bench >"$XDG_RUNTIME_DIR/down"

"$weft" up labs/two-node-400g.yaml --name bench --clock wall >"$XDG_RUNTIME_DIR/up"
read -r server client < <(sed -n 's/.*nodes: \([^ ]*\) \([^ ]*\).*/\1 \2/p' "$XDG_RUNTIME_DIR/up")
wall 65536
wall 2
