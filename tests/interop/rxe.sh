#!/usr/bin/env bash
# The Linux kernel as a peer (make interop): boots Debian's kernel with rdma_rxe in QEMU, plugs it into a switch port of
# a world in wall-clock mode, and runs programs between it and a simulated host, both ways, on a clean cable and on
# one that drops, corrupts, duplicates and reorders.
#   tests/interop/rxe.sh [BUILD_DIR]
# Needs qemu-system, busybox-static, perftest, ibverbs-utils, rdmacm-utils, iproute2, python3, and Debian's archive.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${1:-build}
weft=$PWD/$build/weft
cache=$PWD/$build/rxe
relay=tests/interop/tcp_relay.py
work=$(mktemp -d /tmp/weft-rxe-XXXXXX)
export XDG_RUNTIME_DIR=$work PATH=$cache:$PATH
mkdir -p "$cache"
failures=0
children=()

say() { printf '%s\n' "$*"; }
die() { say "rxe.sh: $*" >&2; exit 1; }

finish() {
  local status=$?
  "$weft" down rxe >/dev/null 2>&1 || true
  for pid in "${children[@]}"; do kill "$pid" 2>/dev/null || true; done
  [[ -n ${qemu:-} ]] && kill "$qemu" 2>/dev/null
  ((status == 0)) && rm -rf "$work" || say "logs are in $work"
  exit "$status"
}
trap finish EXIT

free_port() {  # udp or tcp
  python3 -c "import socket; s = socket.socket(type=socket.SOCK_${1}); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"
}

# --- The machine.

# KVM where there is one that boots the machine, emulation otherwise.
start_guest() {
  local machine
  case $(uname -m) in
    aarch64) machine=(qemu-system-aarch64 -M virt) device=virtio-net-device console=ttyAMA0 emulated=cortex-a72 ;;
    x86_64) machine=(qemu-system-x86_64 -M q35) device=virtio-net-pci console=ttyS0 emulated=max ;;
    *) die "no recipe for this machine" ;;
  esac
  mkfifo "$work/console"
  exec 3<>"$work/console"
  if [[ -w /dev/kvm ]]; then
    boot_guest "${machine[@]}" -enable-kvm -cpu host && return
    say "no machine boots with /dev/kvm; emulating it: $(tail -1 "$work/qemu.log")"
    kill "$qemu" 2>/dev/null || true
    wait "$qemu" 2>/dev/null || true
  fi
  boot_guest "${machine[@]}" -cpu "$emulated" ||
    die "the machine does not come up: $(tail -5 "$work/guest.log" "$work/qemu.log")"
}

boot_guest() {
  "$@" -m 512 -smp 1 -kernel "$cache/vmlinuz" -initrd "$cache/initramfs" \
    -append "console=$console quiet" -display none -monitor none -serial stdio -no-reboot \
    -netdev "dgram,id=fabric,local.type=inet,local.host=127.0.0.1,local.port=$guest_udp,remote.type=inet,remote.host=127.0.0.1,remote.port=$world_udp" \
    -device "$device,netdev=fabric,mac=52:54:00:00:00:09,host_mtu=9000" \
    -netdev "user,id=user,hostfwd=tcp:127.0.0.1:$guest_tcp-:18515" -device "$device,netdev=user" \
    <&3 >"$work/guest.log" 2>"$work/qemu.log" 3>&- &
  qemu=$!
  guest_number=0
  guest_wait 0 120
}

# guest_wait NUMBER SECONDS: the command with that number has ended; its status. 124 when it has not, or QEMU has.
guest_wait() {
  local status
  for ((i = 0; i < $2 * 5; ++i)); do
    status=$(tr -d '\r' <"$work/guest.log" | sed -n "s/^@@$1 //p")
    [[ -n $status ]] && return "$status"
    kill -0 "$qemu" 2>/dev/null || return 124
    sleep 0.2
  done
  return 124
}
# guest COMMAND: runs it; its output is in guest.log.
guest() {
  local status=0
  printf '%s\n' "$1" >&3
  guest_number=$((guest_number + 1))
  guest_wait "$guest_number" "${2:-150}" || status=$?
  kill -0 "$qemu" 2>/dev/null || die "QEMU has ended: $(tail -3 "$work/qemu.log")"
  return "$status"
}

# What rxe has counted: the sum of these counters, in `counted`.
guest_counts() {
  guest "cd /sys/class/infiniband/rxe0/ports/1/hw_counters && cat $* | awk '{s += \$1} END {print \"sum \" s}'"
  counted=$(tr -d '\r' <"$work/guest.log" | sed -n 's/^sum //p' | tail -1)
}

# --- One program, both ways. The two sides number their GIDs differently: @ stands for the index.

report() {  # NAME STATUS FILES…
  if (($2 == 0)); then
    say "  ok    $1"
  else
    say "  FAIL  $1"
    shift 2
    (($# == 0)) || tail -n 8 "$@" | sed 's/^/        /'
    failures=$((failures + 1))
  fi
}

# The simulated host serves. The guest's TCP goes to QEMU's gateway, which is this machine.
guest_is_client() {
  local program=${1//@/1} server=${1//@/3} status=0
  timeout 150 "$weft" exec h0 -- $server >"$work/server.log" 2>&1 &
  local pid=$!
  timeout 150 python3 "$relay" "$weft" "$relay_tcp" h0 18515 >"$work/relay.log" 2>&1 &
  children+=("$!")
  local relay_pid=$!
  sleep 1
  guest "timeout 140 $program -p $relay_tcp 10.0.2.2 >/tmp/client.log 2>&1" || status=$?
  guest "tail -n 8 /tmp/client.log" || true
  wait "$pid" || status=$?
  kill "$relay_pid" 2>/dev/null || true
  report "$1, guest to world" "$status" "$work/server.log" "$work/relay.log" "$work/guest.log"
}

# The guest serves. A program on a node reaches QEMU's forward at 127.0.0.1.
guest_is_server() {
  local client=${1//@/3} server=${1//@/1} status=0
  guest "timeout 150 $server >/tmp/server.log 2>&1 & sleep 1" || status=$?
  timeout 150 "$weft" exec h0 -- $client -p "$guest_tcp" 127.0.0.1 >"$work/client.log" 2>&1 || status=$?
  guest 'wait $!' || status=$?
  guest "tail -n 8 /tmp/server.log" || true
  report "$1, world to guest" "$status" "$work/client.log" "$work/guest.log"
}

both_ways() { guest_is_client "$1"; guest_is_server "$1"; }

# Programs that find each other by the RDMA CM, over the cable itself: "SERVER | CLIENT", where ADDRESS is the server's.
# perftest connects twice; when the server is slow to listen again, the client is rejected, uses an id that it has freed
# (4.5, on either side) and crashes. That pair is restarted.
by_cm() {
  local server=${1%% | *} client=${1##* | } status try
  for ((try = 0; try < 5; ++try)); do
    status=0
    timeout 60 "$weft" exec h0 -- ${server/ADDRESS/10.0.0.1} >"$work/server.log" 2>&1 &
    local pid=$!
    sleep 2
    guest "timeout 60 ${client/ADDRESS/10.0.0.1} >/tmp/client.log 2>&1" || status=$?
    ((status == 139)) && kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null || ((status == 139)) || status=1
    ((status == 139)) || break
  done
  guest "tail -n 8 /tmp/client.log" || true
  report "$client, guest to world" "$status" "$work/server.log" "$work/guest.log"
  for ((try = 0; try < 5; ++try)); do
    status=0
    guest "timeout 60 ${server/ADDRESS/10.0.0.9} >/tmp/server.log 2>&1 &" || status=$?
    guest "i=0; until rdma resource show cm_id | grep -q LISTEN || [ \$i = 20 ]; do i=\$((i + 1)); sleep 1; done" || true
    timeout 60 "$weft" exec h0 -- ${client/ADDRESS/10.0.0.9} >"$work/client.log" 2>&1 || status=$?
    ((status == 139)) && guest 'kill $!'
    guest 'wait $!' || ((status == 139)) || status=1
    ((status == 139)) || break
  done
  guest "tail -n 8 /tmp/server.log" || true
  report "$client, world to guest" "$status" "$work/client.log" "$work/guest.log"
}

# up [FAULT…]: a world with these faults on the guest's cable, both directions.
up() {
  "$weft" down rxe >/dev/null 2>&1 || true
  for ((i = 0; i < 50; ++i)); do [[ -e $work/weft/rxe ]] && sleep 0.1; done
  sed "s/127.0.0.1:7001/127.0.0.1:$world_udp/; s/127.0.0.1:7002/127.0.0.1:$guest_udp/" labs/live/rxe-peer.yaml \
    >"$work/lab.yaml"
  (($# == 0)) || printf 'faults:\n' >>"$work/lab.yaml"
  for fault in "$@"; do
    printf '  - {link: "vm:p0", both_directions: true, %s}\n' "$fault" >>"$work/lab.yaml"
  done
  "$weft" up "$work/lab.yaml" --clock wall --name rxe >/dev/null || die "the world does not come up"
}

guest_udp=$(free_port DGRAM) world_udp=$(free_port DGRAM) guest_tcp=$(free_port STREAM) relay_tcp=$(free_port STREAM)
if [[ ! $cache/rdma_check -nt tests/interop/programs/rdma_check.cc ]]; then
  g++ -std=c++20 -O1 tests/interop/programs/rdma_check.cc -libverbs -o "$cache/rdma_check"
fi
tests/interop/rxe_guest.sh "$cache" "$cache/rdma_check" || die "the machine could not be made"
up
start_guest
long="-u 18"  # 1.07 s for an acknowledgement: QEMU without KVM is slow

# What runs on every cable, and how often rxe noticed meanwhile that something was missing or came twice.
exercise() {
  local before_gaps before_twice
  guest_counts out_of_seq_request rcvd_seq_err completer_retry_err
  before_gaps=$counted
  guest_counts duplicate_request
  before_twice=$counted
  both_ways "rdma_check -g @ -n 26"
  guest_is_client "ib_write_bw -F -x @ -n 100 -s 65536 $long"
  by_cm "rping -s -a ADDRESS -V -C 10 | rping -c -a ADDRESS -V -C 10"
  guest_counts out_of_seq_request rcvd_seq_err completer_retry_err
  gaps=$((counted - before_gaps))
  guest_counts duplicate_request
  twice=$((counted - before_twice))
  say "        rxe: $gaps gaps, $twice duplicates"
}

say "Linux $(sed -n 's/^kernel //p' "$cache/about") rdma_rxe, a clean cable"
exercise
clean_gaps=$gaps clean_twice=$twice
both_ways "ibv_rc_pingpong -g @ -c -n 100"
both_ways "ibv_ud_pingpong -g @ -c -n 100 -s 1024"
both_ways "ib_read_bw -F -x @ -n 100 -s 65536 $long"
both_ways "ib_send_bw -F -x @ -n 100 -s 10001 $long"
both_ways "ib_atomic_bw -F -x @ -n 100 $long"
both_ways "ib_send_lat -F -x @ -n 50 $long"
by_cm "ib_write_bw -R -F -n 100 -s 65536 | ib_write_bw -R -F -n 100 -s 65536 ADDRESS"
by_cm "ib_send_bw -R -F -n 100 -s 10001 | ib_send_bw -R -F -n 100 -s 10001 ADDRESS"
by_cm "ucmatose -C 4 -b ADDRESS | ucmatose -C 4 -s ADDRESS"

declare -A faults=(
  [drop]="action: drop, probability: 1 %"
  [corrupt]="action: corrupt, probability: 1 %"
  [duplicate]="action: duplicate, probability: 30 %"
  [reorder]="action: delay, delay: 300 us, probability: 2 %"
)
for name in drop corrupt duplicate reorder; do
  say "a cable with $name"
  up "${faults[$name]}"
  exercise
  status=0
  if [[ $name == duplicate ]]; then
    ((twice > clean_twice + 200)) || status=1
  else
    ((gaps > clean_gaps + 10)) || status=1
  fi
  report "the fault was there" "$status"
done
"$weft" ps

guest "true" || true
((failures == 0)) || die "$failures failed"
say "all passed"
