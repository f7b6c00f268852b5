#!/bin/sh
# weft inspect: collects the state of a host or a switch with Linux into one bundle on standard output, for `weft doctor`
# (docs/doctor.md). It reads and changes nothing; without root some sections are shorter. Any POSIX shell will do.
PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin:/opt/mellanox/iproute2/sbin
LC_ALL=C
export PATH LC_ALL
set -u

limit=
if command -v timeout >/dev/null 2>&1; then limit='timeout 30'; fi

# Output of a command, as text, with nothing in it that looks like a heading, and no line that is longer than any tool's.
if command -v tr >/dev/null 2>&1 && command -v cut >/dev/null 2>&1 && command -v sed >/dev/null 2>&1; then
  plain() {
    tr -d '\000\r' | cut -b 1-20000 | sed 's/^=== / === /'
  }
else
  # A container with nothing but a shell.
  plain() {
    while IFS= read -r line; do
      case $line in
        '=== '*) printf ' %s\n' "$line" ;;
        *) printf '%s\n' "$line" ;;
      esac
    done
  }
fi

# section COMMAND ARGUMENT…: nothing where the command is not installed.
section() {
  command -v "$1" >/dev/null 2>&1 || return 0
  printf '=== %s\n' "$*"
  {
    # shellcheck disable=SC2086 # two words
    $limit "$@" </dev/null 2>&1 || printf '[exit %s]\n' "$?"
  } | plain
}

grep=$(command -v grep)
# Lines of files as PATH:LINE; what cannot be read is left out.
files() {
  for file in "$@"; do
    if [ -f "$file" ] && [ -r "$file" ]; then
      if [ -n "$grep" ]; then
        grep -sH . "$file"
      else
        while IFS= read -r value; do printf '%s:%s\n' "$file" "$value"; done <"$file" 2>/dev/null
      fi
    fi
  done
}

# Words of a list that a pattern did not match are left out.
existing() {
  for path in "$@"; do
    if [ -e "$path" ]; then printf '%s\n' "$path"; fi
  done
}

host=$(uname -n 2>/dev/null)
if [ -z "$host" ]; then read -r host </proc/sys/kernel/hostname; fi 2>/dev/null
printf '# weft bundle 1\n# host: %s\n' "${host:-unknown}"
printf '# user: %s\n' "$(id -un 2>/dev/null)"

section uname -a

# A switch: its configuration and its counters are what matters.
if [ -r /etc/sonic/config_db.json ]; then
  # Tables of ports and QoS only: others have passwords and communities in them. SONiC always has python3.
  printf '=== cat /etc/sonic/config_db.json\n'
  python3 -c '
import json
with open("/etc/sonic/config_db.json") as file:
    config = json.load(file)
tables = ["DEVICE_METADATA", "PORT", "DEVICE_NEIGHBOR", "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP",
          "MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "PORT_QOS_MAP", "SCHEDULER", "WRED_PROFILE",
          "QUEUE", "CABLE_LENGTH", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "PFC_WD"]
print(json.dumps({name: config[name] for name in tables if name in config}, indent=4))
' </dev/null | plain
  section show version
  section show interfaces status
  section show interfaces counters
  section show pfc counters
  section show pfcwd stats
  section show pfcwd config
  section show priority-group drop counters
  section show priority-group watermark headroom
  section show queue counters
  section show lldp table
  printf '=== end\n'
  exit 0
fi

# Cumulus Linux: only what is of ports and QoS; other lines have passwords.
if command -v nv >/dev/null 2>&1; then
  printf '=== nv config show -o commands\n'
  nv config show -o commands 2>/dev/null </dev/null |
    grep -E '^nv set (qos |system hostname |interface [^ ]+ (link|qos|description|type) )' | plain
  section nv show interface -o json
  for path in $(existing /sys/class/net/swp*); do
    name=${path##*/}
    section nv show interface "$name" counters qos
    section nv show interface "$name" qos pfc-watchdog
    section ethtool -S "$name"
  done
  section lldpcli show neighbors
  printf '=== end\n'
  exit 0
fi

printf '=== ls -d /sys/class/infiniband/*/device/net/*\n'
existing /sys/class/infiniband/*/device/net/* | plain
printf '=== ls -d /sys/class/iommu/*\n'
existing /sys/class/iommu/* | plain
section rdma link
for device in $(existing /sys/class/infiniband/*); do
  section readlink -f "$device/device"
done

# Interfaces of cards; bridges, tunnels and the loopback have no device.
for path in $(existing /sys/class/net/*/device); do
  name=${path%/device}
  name=${name##*/}
  section ethtool "$name"
  section ethtool -i "$name"
  section ethtool -a "$name"
  section ethtool -g "$name"
  section ethtool --show-fec "$name"
  section ethtool -S "$name"
  section mlnx_qos -i "$name"
  section dcb pfc show dev "$name"
  section dcb -N app show dev "$name"
  section dcb ets show dev "$name"
  section dcb buffer show dev "$name"
done
section bridge link show
section tc qdisc show

section ibstat
section ibv_devinfo -v
section rdma statistic show
section lldpcli show neighbors
section lspci -D -vv
section nvidia-smi topo -m
section lsmod

printf '=== files\n'
{
  files /sys/class/net/*/mtu /sys/class/net/*/flags /sys/class/net/*/operstate /sys/class/net/*/carrier_changes
  files /sys/class/net/*/ecn/roce_np/enable/* /sys/class/net/*/ecn/roce_rp/enable/*
  files /sys/class/net/*/ecn/roce_np/cnp_dscp /sys/class/net/*/ecn/roce_np/cnp_802p_prio
  for port in $(existing /sys/class/infiniband/*/ports/*); do
    files "$port/state" "$port/phys_state" "$port/rate" "$port/link_layer"
    files "$port"/hw_counters/* "$port"/counters/*
    for gid in "$port"/gids/*; do
      index=${gid##*/}
      case $(cat "$gid" 2>/dev/null) in
        '' | 0000:0000:0000:0000:0000:0000:0000:0000) ;;
        *) files "$gid" "$port/gid_attrs/types/$index" "$port/gid_attrs/ndevs/$index" ;;
      esac
    done
  done
  files /sys/class/infiniband/*/tc/*/traffic_class
  files /sys/kernel/config/rdma_cm/*/ports/*/default_roce_mode /sys/kernel/config/rdma_cm/*/ports/*/default_roce_tos
  for device in $(existing /sys/bus/pci/devices/*); do
    # Network, display, processing accelerator.
    case $(cat "$device/class" 2>/dev/null) in
      0x02* | 0x03* | 0x12*)
        files "$device/numa_node" "$device/local_cpulist" "$device/max_link_speed" "$device/max_link_width" \
          "$device/current_link_speed" "$device/current_link_width"
        ;;
    esac
  done
  files /sys/devices/system/cpu/online /sys/devices/system/cpu/isolated
  files /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor
  files /sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list
  files /sys/devices/system/node/node[0-9]*/cpulist
  files /proc/cmdline /proc/uptime /proc/sys/kernel/osrelease /proc/driver/nvidia/version
  grep -sH -E '^(MemTotal|HugePages_|Hugepagesize)' /proc/meminfo 2>/dev/null
  files /etc/nccl.conf /etc/modules-load.d/*.conf
} | plain

section pgrep -a opensm
for layer in $(existing /sys/class/infiniband/*/ports/*/link_layer); do
  if grep -q InfiniBand "$layer"; then
    section sminfo
    break
  fi
done

printf '=== dmesg\n'
if [ -n "$grep" ]; then
  # shellcheck disable=SC2086 # two words
  { $limit dmesg 2>/dev/null || $limit journalctl -k -b -o short-monotonic --no-pager 2>/dev/null; } |
    grep -i -E 'mlx5|irdma|[^a-z]ice |bnxt|iommu|nvidia|peermem|AER|pcie bus error|link is (up|down)|hung task' |
    tail -n 2000
fi 2>/dev/null | plain

printf '=== end\n'
