#!/usr/bin/env bash
# perftest of another version than Debian's (make perftest-suite SUITE=DIR) between two simulated ConnectX-4 Lx, in virtual
# time and in wall-clock mode. Prints a line for each run with the average, or with what the client said last, and checks
# bandwidths of virtual time against what 25 Gb/s allow: 4,096 of 4,178 bytes.
#   tests/interop/perftest_suite.sh SUITE [BUILD_DIR]
# SUITE is the folder in which perftest was built.
set -euo pipefail
cd "$(dirname "$0")/../.."

suite=${1:?"usage: perftest_suite.sh SUITE [BUILD_DIR]: SUITE is the folder in which perftest was built"}
build=${2:-build}
weft=$PWD/$build/weft
[[ -x $suite/ib_write_bw ]] || {
  echo "perftest_suite.sh: $suite has no ib_write_bw; build perftest there (./autogen.sh && ./configure && make)" >&2
  exit 2
}
suite=$(realpath "$suite")
work=$(mktemp -d /tmp/weft-perftest-XXXXXX)
export XDG_RUNTIME_DIR=$work
trap '"$weft" down perftest >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

# Program, options, least and most Gb/s in virtual time (- where it is a latency, or has no such limit). wall: only in
# that mode; its threads look at memory without end, which virtual time would advance by half a millisecond of CPU each.
tests='
ib_write_bw  |                                     | 24.4 24.6
ib_write_bw  | -R                                  | 24.4 24.6
ib_write_bw  | -q 4                                | 24.4 24.6
ib_write_bw  | -b                                  | 48.8 49.2
ib_write_bw  | -c UC                               | 24.4 24.6
ib_write_bw  | -c XRC                              | 24.4 24.6
ib_write_bw  | -l 8                                | 24.4 24.6
ib_write_bw  | -D 1                                | 24.4 24.6
ib_write_bw  | --write_with_imm                    | 24.4 24.6
ib_write_bw  | --flows 4                           | 24.4 24.6
ib_write_bw  | --recv_post_list 4                  | 24.4 24.6
ib_write_bw  | --mr_per_qp -q 2                    | 24.4 24.6
ib_write_bw  | --rate_limit 10 --rate_units g      | 9.8 10.1
ib_write_bw  | --data_validation                   | wall
ib_read_bw   |                                     | 24.4 24.6
ib_read_bw   | -o 8                                | 24.4 24.6
ib_send_bw   |                                     | 24.4 24.6
ib_send_bw   | -e                                  | 24.4 24.6
ib_send_bw   | -c UD                               | 24.3 24.6
ib_send_bw   | -c XRC                              | 24.4 24.6
ib_send_bw   | --use-srq                           | 24.4 24.6
ib_send_bw   | --send_with_imm                     | 24.4 24.6
ib_send_bw   | --odp                               | 24.4 24.6
ib_send_bw   | --use_old_post_send                 | 24.4 24.6
ib_atomic_bw |                                     | -
ib_send_lat  |                                     | -
ib_send_lat  | -c UD                               | -
ib_send_lat  | --latency_gap 5                     | -
ib_read_lat  |                                     | -
ib_atomic_lat|                                     | -
ib_write_lat | -n 100                              | -
'

failed=0
printf '| program | virtual time | wall-clock mode |\n|---|---|---|\n'
declare -A shown
for clock in virtual wall; do
  "$weft" up labs/two-node-25g.yaml --name perftest --clock "$clock" >/dev/null
  while IFS='|' read -r program options limits; do
    [[ -n $program ]] || continue
    read -r program <<<"$program"
    read -r options <<<"$options"
    read -r least most <<<"$limits"
    [[ $clock != virtual || $least != wall ]] || {
      shown["$program $options"]='not tried'
      continue
    }
    run="$suite/$program -F -x 3 $options"
    unit=us
    [[ $program == *_lat ]] || { run+=' --report_gbits'; unit=Gb/s; }
    # shellcheck disable=SC2086  # a command line
    timeout 60 "$weft" exec vm00 -- $run >"$work/server" 2>&1 </dev/null &
    status=0
    # shellcheck disable=SC2086
    timeout 60 "$weft" exec vm01 -- $run vm00 >"$work/client" 2>&1 </dev/null || status=$?
    wait $! || status=$?
    # The row below the headings: column 4 is the average bandwidth, column 5 the typical latency.
    figure=$(awk -v column="$([[ $unit == us ]] && echo 5 || echo 4)" '/#bytes/ { getline; print $column; exit }' "$work/client")
    if ((status != 0)) || [[ -z $figure ]]; then
      figure="failed: $(sed '/^-*$/d' "$work/client" | tail -n 1)"
      failed=1
    elif [[ $clock == virtual && $least != - ]] && ! awk "BEGIN { exit !($figure >= $least && $figure <= $most) }"; then
      figure="$figure $unit, not within $least to $most"
      failed=1
    elif [[ $clock == wall ]]; then
      figure=runs
    else
      figure="$figure $unit"
    fi
    if [[ $clock == virtual ]]; then
      shown["$program $options"]=$figure
    else
      # shellcheck disable=SC2016  # quotes of Markdown
      printf '| `%s` | %s | %s |\n' "$program${options:+ $options}" "${shown["$program $options"]}" "$figure"
    fi
  done <<<"$tests"
  "$weft" down perftest >/dev/null
done
exit $failed
