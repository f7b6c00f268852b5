#!/usr/bin/env bash
# rdma-core's own tests (make rdma-core-suite SUITE=DIR) on a simulated ConnectX, in virtual time and in wall-clock mode:
# unpatched, with Debian's python3-pyverbs. Prints a table by file, and every skip with its reason.
#   tests/interop/rdma_core_suite.sh SUITE [BUILD_DIR]
# SUITE is a checkout of rdma-core of the version of Debian's python3-pyverbs (v44.0).
set -euo pipefail
cd "$(dirname "$0")/../.."

suite=${1:?"usage: rdma_core_suite.sh SUITE [BUILD_DIR]: SUITE is a checkout of rdma-core v44.0"}
build=${2:-build}
weft=$PWD/$build/weft
[[ -f $suite/tests/run_tests.py ]] || {
  echo "rdma_core_suite.sh: $suite has no tests/run_tests.py; give the folder of a checkout of rdma-core v44.0" >&2
  exit 2
}
suite=$(realpath "$suite")
work=$(mktemp -d /tmp/weft-rdma-core-XXXXXX)
export XDG_RUNTIME_DIR=$work
trap '"$weft" down suite >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

results=()
for clock in virtual wall; do
  "$weft" up labs/two-node-25g.yaml --name suite --clock "$clock" >/dev/null
  # The entry of RoCE v2 with the address; the suite itself would take the first, which is RoCE v1.
  timeout 600 "$weft" exec vm00 -- /usr/bin/python3 tests/interop/rdma_core_runner.py "$suite/tests" "$work/$clock" \
    --dev mlx5_0 --port 1 --gid 3 >"$work/log" 2>&1 || true
  [[ -s $work/$clock ]] || { cat "$work/log" >&2; exit 1; }
  "$weft" down suite >/dev/null
  results+=("$clock=$work/$clock")
done
python3 tests/interop/rdma_core_table.py "${results[@]}"
