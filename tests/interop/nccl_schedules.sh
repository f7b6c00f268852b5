#!/usr/bin/env bash
# Records what real NCCL posts through a simulated switch, message by message (docs/nccl.md). Needs one NVIDIA GPU.
#   tests/interop/nccl_schedules.sh DIR [RANKS ...]   WEFT=path of the program, PYTHON=, NCCL_LIBRARY=, CUDART_LIBRARY=
#   tests/interop/nccl_schedules.py write DIR > tests/interop/nccl-schedules.txt
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
weft=${WEFT:-$here/../../build/weft}
python=${PYTHON:-python3}
folder=${1:?a folder for what is recorded}
shift
(( $# > 0 )) || set -- 2 3 4 8

XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR
world=nccl-schedules
finish() {
  "$weft" down "$world" >/dev/null 2>&1 || true
  rm -rf "$XDG_RUNTIME_DIR"
}
trap finish EXIT

# As in nccl.sh: ranks with host ids of their own are machines of their own to NCCL.
export NCCL_IB_HCA=mlx5_0 NCCL_IB_GID_INDEX=3 NCCL_NET=IB NCCL_GIN_TYPE=2
export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=${NCCL_DEBUG_SUBSYS:-INIT,ENV,NET,GRAPH,TUNING}
for ranks in "$@"; do
  "$weft" up "$here/nccl.yaml" --name "$world" --clock wall
  "$python" "$here/nccl_schedules.py" record "$weft" "$world" "$ranks" "$folder"
  "$weft" down "$world"
done
