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
# not expressed: headroom of each cable and alpha: the PFC profile has thresholds in shares of its buffer (auto)
# not expressed: RouterOS has no PFC watchdog: a pause storm has no end
/interface ethernet switch qos profile
add name=prio1 traffic-class=0 pcp=1
add name=prio2 traffic-class=0 pcp=2
add name=prio3 traffic-class=3 pcp=3
add name=prio4 traffic-class=0 pcp=4
add name=prio5 traffic-class=0 pcp=5
add name=prio6 traffic-class=6 pcp=6
add name=prio7 traffic-class=0 pcp=7
/interface ethernet switch qos map ip
add dscp=8 profile=prio1
add dscp=9 profile=prio1
add dscp=10 profile=prio1
add dscp=11 profile=prio1
add dscp=12 profile=prio1
add dscp=13 profile=prio1
add dscp=14 profile=prio1
add dscp=15 profile=prio1
add dscp=16 profile=prio2
add dscp=17 profile=prio2
add dscp=18 profile=prio2
add dscp=19 profile=prio2
add dscp=20 profile=prio2
add dscp=21 profile=prio2
add dscp=22 profile=prio2
add dscp=23 profile=prio2
add dscp=24 profile=prio3
add dscp=25 profile=prio3
add dscp=26 profile=prio3
add dscp=27 profile=prio3
add dscp=28 profile=prio3
add dscp=29 profile=prio3
add dscp=30 profile=prio3
add dscp=31 profile=prio3
add dscp=32 profile=prio4
add dscp=33 profile=prio4
add dscp=34 profile=prio4
add dscp=35 profile=prio4
add dscp=36 profile=prio4
add dscp=37 profile=prio4
add dscp=38 profile=prio4
add dscp=39 profile=prio4
add dscp=40 profile=prio5
add dscp=41 profile=prio5
add dscp=42 profile=prio5
add dscp=43 profile=prio5
add dscp=44 profile=prio5
add dscp=45 profile=prio5
add dscp=46 profile=prio5
add dscp=47 profile=prio5
add dscp=48 profile=prio6
add dscp=49 profile=prio6
add dscp=50 profile=prio6
add dscp=51 profile=prio6
add dscp=52 profile=prio6
add dscp=53 profile=prio6
add dscp=54 profile=prio6
add dscp=55 profile=prio6
add dscp=56 profile=prio7
add dscp=57 profile=prio7
add dscp=58 profile=prio7
add dscp=59 profile=prio7
add dscp=60 profile=prio7
add dscp=61 profile=prio7
add dscp=62 profile=prio7
add dscp=63 profile=prio7
/interface ethernet switch qos tx-manager queue
set 0 schedule=high-priority-group weight=50 ecn=yes
set 3 schedule=high-priority-group weight=50 ecn=yes
set 6 schedule=strict-priority
/interface ethernet switch qos priority-flow-control
add name=pfc-tc3 traffic-class=3 rx=yes tx=yes
/interface ethernet
set [ find default-name=qsfp28-1-1 ] mtu=9216 l2mtu=9234 auto-negotiation=no speed=100G-baseCR4 fec-mode=fec91 comment="h0:p0"
set [ find default-name=qsfp28-2-1 ] mtu=9216 l2mtu=9234 auto-negotiation=no speed=100G-baseCR4 fec-mode=fec91 comment="h1:p0"
set [ find default-name=qsfp28-3-1 ] mtu=9216 l2mtu=9234 auto-negotiation=no speed=100G-baseCR4 fec-mode=fec91 comment="h2:p0"
set [ find default-name=qsfp28-4-1 ] mtu=9216 l2mtu=9234 auto-negotiation=no speed=100G-baseCR4 fec-mode=fec91 comment="h3:p0"
/interface ethernet switch qos port
set qsfp28-1-1 trust-l3=keep pfc=pfc-tc3 egress-rate-queue3=100.0Gbps
set qsfp28-2-1 trust-l3=keep pfc=pfc-tc3 egress-rate-queue3=100.0Gbps
set qsfp28-3-1 trust-l3=keep pfc=pfc-tc3 egress-rate-queue3=100.0Gbps
set qsfp28-4-1 trust-l3=keep pfc=pfc-tc3 egress-rate-queue3=100.0Gbps
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
