#!/usr/bin/env bash
# A running FRR fabric: a network namespace for each node, a veth pair for each cable, zebra and bgpd for each switch with
# the frr.conf that weft emitted. Prints "node peers-established" and "node subnet paths" when all is up.
#   frr_clos.sh DIR    DIR has NODE/frr.conf of every switch, and plan.txt:
#     switch NODE                      in any order
#     host NODE PORT ADDRESS/BITS GATEWAY
#     bridge NODE NAME PORT...         the VLAN interface of a leaf and its ports
#     link NODE PORT NODE PORT
#     peers NODE COUNT                 sessions to wait for
#     route NODE SUBNET PATHS          what it should know then
#     ping NODE ADDRESS
# Runs itself again in namespaces of its own, so that nothing is left behind, with or without root. Ends with 77 where
# namespaces are not allowed.
set -euo pipefail
dir=$(realpath "$1")
if [[ ${2-} != inside ]]; then
  as_root=()
  ((EUID == 0)) || as_root=(--user --map-root-user)
  unshare "${as_root[@]}" --net --mount --pid --fork true 2>/dev/null || exit 77
  exec unshare "${as_root[@]}" --net --mount --pid --fork --kill-child --mount-proc "$0" "$dir" inside
fi

daemons=/usr/lib/frr
mount --make-rprivate / 2>/dev/null || true
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /etc/frr
mkdir -p /run/netns /run/frr
: >/etc/frr/vtysh.conf
# FRR wants to be a user of its group for vtys; in a user namespace there is only root.
sed 's/^\(frr\|frrvty\):.*/\1:x:0:root/' /etc/group >/run/group
mount --bind /run/group /etc/group
printf '%s\n' 'auth sufficient pam_permit.so' 'account sufficient pam_permit.so' >/run/pam
mount --bind /run/pam /etc/pam.d/frr
ip link add name probe0 type veth peer name probe1 2>/dev/null || exit 77
ip link del probe0

in_node() { ip netns exec "$1" "${@:2}"; }
while read -r what node rest; do
  case $what in
    switch | host)
      ip netns add "$node"
      in_node "$node" sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.accept_dad=0 \
        net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
      in_node "$node" ip link set dev lo up
      ;;
  esac
done <"$dir/plan.txt"
while read -r what a port_a b port_b; do
  [[ $what == link ]] || continue
  ip link add name wa type veth peer name wb
  ip link set dev wa netns "$a" name "$port_a"
  ip link set dev wb netns "$b" name "$port_b"
done <"$dir/plan.txt"
while read -r what node name ports; do
  [[ $what == bridge ]] || continue
  in_node "$node" ip link add name "$name" type bridge
  in_node "$node" ip link set dev "$name" up
  for port in $ports; do in_node "$node" ip link set dev "$port" master "$name"; done
done <"$dir/plan.txt"
while read -r what a port_a b port_b; do
  [[ $what == link ]] || continue
  in_node "$a" ip link set dev "$port_a" up
  in_node "$b" ip link set dev "$port_b" up
done <"$dir/plan.txt"
while read -r what node port address gateway; do
  case $what in
    host)
      in_node "$node" ip address add "$address" dev "$port"
      in_node "$node" ip route add default via "$gateway"
      ;;
    switch)
      mkdir -p "/etc/frr/$node" "/run/frr/$node"
      : >"/etc/frr/$node/vtysh.conf"
      cp "$dir/$node/frr.conf" "/etc/frr/$node/frr.conf"
      for daemon in zebra bgpd; do
        in_node "$node" "$daemons/$daemon" -d -N "$node" -u root -g root --log "file:$dir/$node/$daemon.log" \
          >>"$dir/daemons.log" 2>&1
      done
      vtysh -N "$node" -b >>"$dir/daemons.log" 2>&1
      ;;
  esac
done <"$dir/plan.txt"

established() {
  vtysh -N "$1" -c 'show bgp ipv4 unicast summary json' 2>/dev/null |
    python3 -c 'import json, sys
peers = json.load(sys.stdin).get("peers", {})
print(sum(peer.get("state") == "Established" for peer in peers.values()))' || echo 0
}
paths() { in_node "$1" ip route show "$2" | grep -Eo 'dev (swp|Ethernet|eth)[^ ]*' | sort -u | wc -l; }
deadline=$((SECONDS + 60))
all_up() {
  local what node value more
  while read -r what node value more; do
    case $what in
      peers) [[ $(established "$node") == "$value" ]] || return 1 ;;
      route) [[ $(paths "$node" "$value") == "$more" ]] || return 1 ;;
    esac
  done <"$dir/plan.txt"
}
until all_up; do
  ((SECONDS < deadline)) || break
  sleep 0.5
done
while read -r what node value more; do
  case $what in
    peers) echo "peers $node $(established "$node")" ;;
    route) echo "route $node $value $(paths "$node" "$value")" ;;
    ping) if in_node "$node" ping -c 1 -W 5 "$value" >/dev/null 2>&1; then echo "ping $node $value ok"; else echo "ping $node $value lost"; fi ;;
  esac
done <"$dir/plan.txt"
