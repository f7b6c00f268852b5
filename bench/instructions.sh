#!/usr/bin/env bash
# Instructions per packet-hop, by function: what a change costs on a machine whose clock is not to be trusted. Runs
# weft_hops under callgrind on works small enough for it. Counts are exact and the same in every run of one binary.
# Usage: bench/instructions.sh [BUILD_DIRECTORY [ROWS]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=${1:-build}/weft_hops rows=${2:-12}
if ! command -v valgrind >/dev/null; then
  echo "bench/instructions.sh: valgrind is not installed; apt-get install valgrind" >&2
  exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# count NAME ARGUMENTS…
count() {
  local name=$1 profile=$folder/profile hops
  shift
  hops=$(valgrind --tool=callgrind --collect-atstart=no --toggle-collect='weft::bench::run_world*' \
    --dump-before='weft::bench::run_ended*' --callgrind-out-file="$profile" "$program" "$@" 2>"$folder/log" |
    sed -n 's/^hops \([0-9]*\).*/\1/p')
  [[ -n $hops ]] || { cat "$folder/log" >&2; exit 1; }
  callgrind_annotate --auto=no --threshold=100 "$profile.1" 2>/dev/null | awk -v name="$name" -v hops="$hops" -v rows="$rows" '
    /PROGRAM TOTALS/ { gsub(",", "", $1); printf "%-22s %7.1f instructions per hop (%d hops)\n", name, $1 / hops, hops }
    /file:function/ { listing = 1; next }
    listing && /%\)/ {
      count = $1; gsub(",", "", count)
      sub(/^[^)]*%\) */, ""); sub(/^[^:]*:/, ""); sub(/ \[[^]]*\]$/, "")
      sub(/\(.*/, ""); sub(/\047[0-9]+$/, "")
      sum[$0] += count
    }
    END {
      for (function_name in sum) printf "%9.1f  %s\n", sum[function_name] / hops, function_name | "sort -rn | head -" rows
    }'
}

count "permutation 128" perm 8 100000
count "incast 127:1" incast 8 50000
count "leaf-spine 64" perm 0 200000
