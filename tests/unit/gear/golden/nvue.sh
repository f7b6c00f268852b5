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
nv set qos mapping default-global trust l3
nv set qos mapping default-global dscp 0,1,2,3,4,5,6,7 switch-priority 0
nv set qos mapping default-global dscp 8,9,10,11,12,13,14,15 switch-priority 1
nv set qos mapping default-global dscp 16,17,18,19,20,21,22,23 switch-priority 2
nv set qos mapping default-global dscp 24,25,26,27,28,29,30,31 switch-priority 3
nv set qos mapping default-global dscp 32,33,34,35,36,37,38,39 switch-priority 4
nv set qos mapping default-global dscp 40,41,42,43,44,45,46,47 switch-priority 5
nv set qos mapping default-global dscp 48,49,50,51,52,53,54,55 switch-priority 6
nv set qos mapping default-global dscp 56,57,58,59,60,61,62,63 switch-priority 7
nv set qos egress-queue-mapping default-global switch-priority 0 traffic-class 0
nv set qos egress-queue-mapping default-global switch-priority 1 traffic-class 0
nv set qos egress-queue-mapping default-global switch-priority 2 traffic-class 0
nv set qos egress-queue-mapping default-global switch-priority 3 traffic-class 3
nv set qos egress-queue-mapping default-global switch-priority 4 traffic-class 0
nv set qos egress-queue-mapping default-global switch-priority 5 traffic-class 0
nv set qos egress-queue-mapping default-global switch-priority 6 traffic-class 6
nv set qos egress-queue-mapping default-global switch-priority 7 traffic-class 0
nv set qos egress-scheduler default-global traffic-class 0 mode dwrr
nv set qos egress-scheduler default-global traffic-class 0 bw-percent 50
nv set qos egress-scheduler default-global traffic-class 3 mode dwrr
nv set qos egress-scheduler default-global traffic-class 3 bw-percent 50
nv set qos egress-scheduler default-global traffic-class 6 mode strict
nv set qos congestion-control default-global traffic-class 0 ecn enabled
nv set qos congestion-control default-global traffic-class 0 min-threshold 150000
nv set qos congestion-control default-global traffic-class 0 max-threshold 1500000
nv set qos congestion-control default-global traffic-class 0 probability 100
nv set qos congestion-control default-global traffic-class 0 red enabled
nv set qos congestion-control default-global traffic-class 3 ecn enabled
nv set qos congestion-control default-global traffic-class 3 min-threshold 150000
nv set qos congestion-control default-global traffic-class 3 max-threshold 1500000
nv set qos congestion-control default-global traffic-class 3 probability 100
nv set qos congestion-control default-global traffic-class 3 red enabled
nv set qos pfc default-global switch-priority 3
nv set qos pfc default-global tx enable
nv set qos pfc default-global rx enable
nv set qos pfc cable-2m-1 switch-priority 3
nv set qos pfc cable-2m-1 tx enable
nv set qos pfc cable-2m-1 rx enable
nv set qos pfc cable-2m-1 cable-length 2
nv set qos pfc cable-2m-1 port-buffer 53248
nv set qos pfc cable-2m-1 xoff-threshold 19456
nv set qos pfc cable-2m-1 xon-threshold 19456
nv set interface swp1,swp2 qos pfc profile cable-2m-1
nv set qos pfc cable-30m-2 switch-priority 3
nv set qos pfc cable-30m-2 tx enable
nv set qos pfc cable-30m-2 rx enable
nv set qos pfc cable-30m-2 cable-length 30
nv set qos pfc cable-30m-2 port-buffer 60416
nv set qos pfc cable-30m-2 xoff-threshold 19456
nv set qos pfc cable-30m-2 xon-threshold 19456
nv set interface swp31,swp32 qos pfc profile cable-30m-2
nv set interface swp1,swp2,swp31,swp32 qos pfc-watchdog
nv set qos pfc-watchdog polling-interval 100
nv set qos pfc-watchdog robustness 2
nv set qos advance-buffer-config default-global ingress-lossless-buffer shared-alpha alpha_1
nv set qos advance-buffer-config default-global ingress-lossy-buffer priority-group bulk shared-alpha alpha_8
nv set qos advance-buffer-config default-global egress-lossy-buffer traffic-class 0 shared-alpha alpha_8
nv set qos advance-buffer-config default-global egress-lossy-buffer traffic-class 6 shared-alpha alpha_8
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
