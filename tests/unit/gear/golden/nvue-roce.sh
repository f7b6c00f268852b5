#!/bin/sh
# leaf0 of the lab clos-2x4: NVUE for NVIDIA SN3700C, Spectrum-2, 32x 100GbE QSFP28, from its QoS contract
#
# dscp                   priority tc queue pg pfc  scheduler  ecn
# 0-7                           0  0     0  0   -  dwrr 50    150000..1500000 B 100 %
# 8-15                          1  1     0  0   -  dwrr 50    150000..1500000 B 100 %
# 16-23                         2  2     0  0   -  dwrr 50    150000..1500000 B 100 %
# 24-31                         3  3     3  3  on  dwrr 50    150000..1500000 B 100 %
# 32-39                         4  4     0  0   -  dwrr 50    150000..1500000 B 100 %
# 40-47                         5  5     0  0   -  dwrr 50    150000..1500000 B 100 %
# 48-55                         6  6     6  6   -  strict     off
# 56-63                         7  7     0  0   -  dwrr 50    150000..1500000 B 100 %
# not expressed: NVUE has no restoration time of the watchdog: it looks at each poll
# Thresholds are programmed in whole cells: `nv show qos congestion-control` shows what became of them.
# Words of Cumulus Linux 5.19. Early 5.x has `ip address` for `ipv4 address` and `on` for `enabled`.
set -eu
# Cumulus Linux sizes the headroom of every port for this length; the long form has each port's own.
nv set qos roce mode lossless
nv set qos pfc default-global cable-length 30
nv set interface swp1,swp2,swp31,swp32 qos pfc-watchdog
nv set qos pfc-watchdog polling-interval 100
nv set qos pfc-watchdog robustness 2
nv set interface swp1 description h0:p0
nv set interface swp1 link mtu 9216
nv set interface swp1 link speed 100G
nv set interface swp1 link fec rs
nv set interface swp2 description h1:p0
nv set interface swp2 link mtu 9216
nv set interface swp2 link speed 100G
nv set interface swp2 link fec rs
nv set interface swp31 description spine0:swp1
nv set interface swp31 link mtu 9216
nv set interface swp31 link speed 100G
nv set interface swp31 link fec rs
nv set interface swp32 description spine1:swp1
nv set interface swp32 link mtu 9216
nv set interface swp32 link speed 100G
nv set interface swp32 link fec rs
nv set interface lo ipv4 address 10.255.0.1/32
nv set router bgp autonomous-system 65001
nv set router bgp router-id 10.255.0.1
nv set vrf default router bgp path-selection multipath aspath-ignore enabled
nv set vrf default router bgp peer-group FABRIC remote-as external
nv set vrf default router bgp peer-group FABRIC timers keepalive 3
nv set vrf default router bgp peer-group FABRIC timers hold 9
nv set interface swp1 bridge domain br_default access 10
nv set interface swp2 bridge domain br_default access 10
nv set bridge domain br_default vlan 10
nv set interface vlan10 ipv4 address 10.0.0.254/24
nv set vrf default router bgp address-family ipv4-unicast network 10.0.0.0/24
nv set vrf default router bgp address-family ipv4-unicast network 10.255.0.1/32
nv set vrf default router bgp neighbor swp31 type unnumbered
nv set vrf default router bgp neighbor swp31 peer-group FABRIC
nv set vrf default router bgp neighbor swp31 remote-as external
nv set vrf default router bgp neighbor swp32 type unnumbered
nv set vrf default router bgp neighbor swp32 peer-group FABRIC
nv set vrf default router bgp neighbor swp32 remote-as external
nv set vrf default router bgp address-family ipv4-unicast multipaths ebgp 64
nv config apply -y
nv config save
