# leaf0 of the lab small-buffer-crs504: RouterOS 7 for MikroTik CRS504-4XQ-IN, Marvell Prestera 98DX4310, 4x 100GbE QSFP28, RouterOS, from its QoS contract
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
# not expressed: queue 0: ECN from 150000 B to 1500000 B, 100 %: RouterOS marks at thresholds of its own
# not expressed: queue 3: ECN from 150000 B to 1500000 B, 100 %: RouterOS marks at thresholds of its own
# not expressed: headroom of each cable and alpha: the PFC profile has thresholds of its own (auto)
# not expressed: RouterOS has no PFC watchdog: a pause storm has no end
# RouterOS 7.23 or later, without a default configuration: its bridge has every port.
/interface ethernet switch qos profile
add name=prio0 traffic-class=0 pcp=0 automap=no
add name=prio1 traffic-class=0 pcp=1 automap=no
add name=prio2 traffic-class=0 pcp=2 automap=no
add name=prio3 traffic-class=3 pcp=3 automap=no
add name=prio4 traffic-class=0 pcp=4 automap=no
add name=prio5 traffic-class=0 pcp=5 automap=no
add name=prio6 traffic-class=6 pcp=6 automap=no
add name=prio7 traffic-class=0 pcp=7 automap=no
/interface ethernet switch qos map ip
add dscp=0-7 profile=prio0
add dscp=8-15 profile=prio1
add dscp=16-23 profile=prio2
add dscp=24-31 profile=prio3
add dscp=32-39 profile=prio4
add dscp=40-47 profile=prio5
add dscp=48-55 profile=prio6
add dscp=56-63 profile=prio7
/interface ethernet switch qos tx-manager queue
set 0 schedule=high-priority-group weight=50 use-shared-buffers=yes ecn=yes
set 3 schedule=high-priority-group weight=50 use-shared-buffers=yes ecn=yes
set 6 schedule=strict-priority use-shared-buffers=yes
/interface ethernet switch qos settings
set lossless-traffic-class=3 lossless-buffers=auto
/interface ethernet switch qos priority-flow-control
add name=lossless traffic-class=3 rx=yes tx=yes
/interface ethernet
set [ find default-name=qsfp28-1-1 ] mtu=9216 l2mtu=9220 auto-negotiation=no speed=100G-baseCR4 fec-mode=fec91 comment="h0:p0"
set [ find default-name=qsfp28-2-1 ] mtu=9216 l2mtu=9220 auto-negotiation=no speed=100G-baseCR4 fec-mode=fec91 comment="h1:p0"
set [ find default-name=qsfp28-3-1 ] mtu=9216 l2mtu=9220 auto-negotiation=no speed=100G-baseCR4 fec-mode=fec91 comment="h2:p0"
set [ find default-name=qsfp28-4-1 ] mtu=9216 l2mtu=9220 auto-negotiation=no speed=100G-baseCR4 fec-mode=fec91 comment="h3:p0"
/interface ethernet switch qos port
set qsfp28-1-1 profile=prio0 trust-l3=keep pfc=lossless egress-rate-queue3=100.0Gbps
set qsfp28-2-1 profile=prio0 trust-l3=keep pfc=lossless egress-rate-queue3=100.0Gbps
set qsfp28-3-1 profile=prio0 trust-l3=keep pfc=lossless egress-rate-queue3=100.0Gbps
set qsfp28-4-1 profile=prio0 trust-l3=keep pfc=lossless egress-rate-queue3=100.0Gbps
/interface bridge
add name=bridge
/interface bridge port
add bridge=bridge interface=qsfp28-1-1
add bridge=bridge interface=qsfp28-2-1
add bridge=bridge interface=qsfp28-3-1
add bridge=bridge interface=qsfp28-4-1
/interface ethernet switch
set switch1 qos-hw-offloading=yes
/ip neighbor discovery-settings
set lldp-dcbx=yes
