#!/usr/bin/env bash
# How fast `weft analyze` reads captures, and how much memory it takes, side by side with `tshark -q -z conv,udp` on the
# same files. The files are made here (weft_capture_maker), in the page cache, and removed:
#   snapped  96 bytes of each frame of 64 connections, messages of 16 packets of 4096 B, an ACK for each
#   full     the same traffic, whole frames
#   flows    half a million connections, so a million streams: one message of 4 packets and its ACK each
# Rates are of CPU time, so that other work on the machine does not count. Usage: bench/analyze.sh [BUILD_DIRECTORY]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build}
for program in tshark /usr/bin/time; do
  command -v "$program" >/dev/null || { echo "bench/analyze.sh: $program is not installed; apt-get install tshark time" >&2; exit 1; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# make_capture NAME ARGUMENTS…
make_capture() {
  local name=$1
  shift
  "$build/weft_capture_maker" "$@" "$folder/$name.pcap" >"$folder/$name.size"
  cat "$folder/$name.pcap" >/dev/null
}
# measure NAME LABEL COMMAND…: one row. weft analyze ends with 1 where it found something.
measure() {
  local name=$1 label=$2 packets bytes status=0
  shift 2
  /usr/bin/time -q -o "$folder/time" -f '%e %U %S %M' "$@" >"$folder/out" 2>"$folder/err" || status=$?
  if ((status > 1)); then cat "$folder/err" >&2; exit 1; fi
  read -r _ packets _ bytes <"$folder/$name.size"
  tail -1 "$folder/time" | awk -v name="$name" -v label="$label" -v packets="$packets" -v bytes="$bytes" '{
    cpu = $2 + $3
    printf "%-8s %8.1f %8.2f  %-26s %8.2f %8.2f %10.2f %8.2f %8.0f\n",
      name, bytes / 1e6, packets / 1e6, label, $1, cpu, packets / cpu / 1e6, bytes / cpu / 1e9, $4 / 1024 }'
}

make_capture snapped 64 4000 16 4096 96
make_capture full 64 250 16 4096 9000
make_capture flows 524288 1 4 1024 96
printf '%-8s %8s %8s  %-26s %8s %8s %10s %8s %8s\n' file MB Mframes program 'wall s' 'CPU s' 'Mframes/s' GB/s 'peak MB'
for name in snapped full flows; do
  measure "$name" 'weft analyze --no-icrc' "$build/weft" analyze --no-icrc --json "$folder/$name.pcap"
  if [[ $name == full ]]; then measure "$name" 'weft analyze' "$build/weft" analyze --json "$folder/$name.pcap"; fi
  measure "$name" 'tshark -q -z conv,udp' tshark -n -q -z conv,udp -r "$folder/$name.pcap"
done
