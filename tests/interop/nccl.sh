#!/usr/bin/env bash
# Real NCCL from PyTorch on one GPU through a simulated switch, in a world in wall-clock mode (docs/nccl.md).
#   tests/interop/nccl.sh [RANKS]     2 to 8; WEFT=path of the program, PYTHON=the one with PyTorch
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
weft=${WEFT:-$here/../../build/weft}
python=${PYTHON:-python3}
ranks=${1:-2}
(( ranks >= 2 && ranks <= 8 )) || { echo "2 to 8 ranks: the lab has eight hosts" >&2; exit 2; }

XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR
world=nccl
children=()
finish() {
  (( ${#children[@]} == 0 )) || kill "${children[@]}" 2>/dev/null || true
  "$weft" down "$world" >/dev/null 2>&1 || true
  rm -rf "$XDG_RUNTIME_DIR"
}
trap finish EXIT

"$weft" up "$here/nccl.yaml" --name "$world" --clock wall

# NCCL takes ranks with different host ids for different machines, and then does not mind that they share a GPU.
export NCCL_IB_HCA=mlx5_0 NCCL_IB_GID_INDEX=3 NCCL_NET=IB NCCL_DEBUG=${NCCL_DEBUG:-INFO} NCCL_DEBUG_SUBSYS=INIT,NET
# 2: the proxy; NCCL 2.28.9 would look for NICs that a GPU drives and stumble over finding none.
export NCCL_GIN_TYPE=2
for (( rank = 0; rank < ranks; ++rank )); do
  NCCL_HOSTID=weft-h$rank timeout 300 "$weft" exec --world "$world" "h$rank" -- \
    "$python" "$here/nccl_collectives.py" "$rank" "$ranks" "$XDG_RUNTIME_DIR/store" >"$XDG_RUNTIME_DIR/rank$rank" 2>&1 &
  children+=($!)
done
status=0
for child in "${children[@]}"; do wait "$child" || status=1; done
children=()
"$weft" ps
if (( status != 0 )); then
  for (( rank = 0; rank < ranks; ++rank )); do echo "== rank $rank"; tail -n 40 "$XDG_RUNTIME_DIR/rank$rank"; done
  exit 1
fi
grep -h "NET/IB : Using\|via NET/IB" "$XDG_RUNTIME_DIR/rank0" | head -4
grep -hv "NCCL INFO" "$XDG_RUNTIME_DIR/rank0"
grep -q "via NET/IB" "$XDG_RUNTIME_DIR/rank0" || { echo "the bytes did not go through the simulated NIC" >&2; exit 1; }
