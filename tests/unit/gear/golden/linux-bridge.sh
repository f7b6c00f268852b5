#!/bin/sh
# spine0 of the lab clos-2x4: Linux bridge with DCB for NVIDIA SN3700C, Spectrum-2, 32x 100GbE QSFP28, from its QoS contract
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
# not expressed: Linux has no PFC watchdog for mlxsw
# not expressed: alpha and pools: devlink sb has them for each port and class, this script leaves the driver's own
set -eu
ip link set dev swp1 mtu 9216 up
ethtool -A swp1 autoneg off rx off tx off
ethtool --set-fec swp1 encoding rs
dcb app replace dev swp1 dscp-prio 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 8:1 9:1 10:1 11:1 12:1 13:1 14:1 15:1 16:2 17:2 18:2 19:2 20:2 21:2 22:2 23:2 24:3 25:3 26:3 27:3 28:3 29:3 30:3 31:3 32:4 33:4 34:4 35:4 36:4 37:4 38:4 39:4 40:5 41:5 42:5 43:5 44:5 45:5 46:5 47:5 48:6 49:6 50:6 51:6 52:6 53:6 54:6 55:6 56:7 57:7 58:7 59:7 60:7 61:7 62:7 63:7
tc qdisc replace dev swp1 root handle 1: ets bands 8 strict 2 quanta 1000 1000 50000 1000 1000 50000 priomap 7 7 7 4 7 7 1 7
tc qdisc replace dev swp1 parent 1:8 handle 10: red limit 34287552 min 150000 max 1500000 avpkt 1500 probability 1 bandwidth 34000mbit burst 401 ecn
tc qdisc replace dev swp1 parent 1:5 handle 13: red limit 34287552 min 150000 max 1500000 avpkt 1500 probability 1 bandwidth 34000mbit burst 401 ecn
dcb buffer set dev swp1 prio-buffer 0:0 1:0 2:0 3:3 4:0 5:0 6:6 7:0 buffer-size 3:60416
dcb pfc set dev swp1 prio-pfc all:off 3:on
ip link set dev swp2 mtu 9216 up
ethtool -A swp2 autoneg off rx off tx off
ethtool --set-fec swp2 encoding rs
dcb app replace dev swp2 dscp-prio 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 8:1 9:1 10:1 11:1 12:1 13:1 14:1 15:1 16:2 17:2 18:2 19:2 20:2 21:2 22:2 23:2 24:3 25:3 26:3 27:3 28:3 29:3 30:3 31:3 32:4 33:4 34:4 35:4 36:4 37:4 38:4 39:4 40:5 41:5 42:5 43:5 44:5 45:5 46:5 47:5 48:6 49:6 50:6 51:6 52:6 53:6 54:6 55:6 56:7 57:7 58:7 59:7 60:7 61:7 62:7 63:7
tc qdisc replace dev swp2 root handle 1: ets bands 8 strict 2 quanta 1000 1000 50000 1000 1000 50000 priomap 7 7 7 4 7 7 1 7
tc qdisc replace dev swp2 parent 1:8 handle 10: red limit 34287552 min 150000 max 1500000 avpkt 1500 probability 1 bandwidth 34000mbit burst 401 ecn
tc qdisc replace dev swp2 parent 1:5 handle 13: red limit 34287552 min 150000 max 1500000 avpkt 1500 probability 1 bandwidth 34000mbit burst 401 ecn
dcb buffer set dev swp2 prio-buffer 0:0 1:0 2:0 3:3 4:0 5:0 6:6 7:0 buffer-size 3:60416
dcb pfc set dev swp2 prio-pfc all:off 3:on
ip link set dev swp3 mtu 9216 up
ethtool -A swp3 autoneg off rx off tx off
ethtool --set-fec swp3 encoding rs
dcb app replace dev swp3 dscp-prio 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 8:1 9:1 10:1 11:1 12:1 13:1 14:1 15:1 16:2 17:2 18:2 19:2 20:2 21:2 22:2 23:2 24:3 25:3 26:3 27:3 28:3 29:3 30:3 31:3 32:4 33:4 34:4 35:4 36:4 37:4 38:4 39:4 40:5 41:5 42:5 43:5 44:5 45:5 46:5 47:5 48:6 49:6 50:6 51:6 52:6 53:6 54:6 55:6 56:7 57:7 58:7 59:7 60:7 61:7 62:7 63:7
tc qdisc replace dev swp3 root handle 1: ets bands 8 strict 2 quanta 1000 1000 50000 1000 1000 50000 priomap 7 7 7 4 7 7 1 7
tc qdisc replace dev swp3 parent 1:8 handle 10: red limit 34287552 min 150000 max 1500000 avpkt 1500 probability 1 bandwidth 34000mbit burst 401 ecn
tc qdisc replace dev swp3 parent 1:5 handle 13: red limit 34287552 min 150000 max 1500000 avpkt 1500 probability 1 bandwidth 34000mbit burst 401 ecn
dcb buffer set dev swp3 prio-buffer 0:0 1:0 2:0 3:3 4:0 5:0 6:6 7:0 buffer-size 3:60416
dcb pfc set dev swp3 prio-pfc all:off 3:on
ip link set dev swp4 mtu 9216 up
ethtool -A swp4 autoneg off rx off tx off
ethtool --set-fec swp4 encoding rs
dcb app replace dev swp4 dscp-prio 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 8:1 9:1 10:1 11:1 12:1 13:1 14:1 15:1 16:2 17:2 18:2 19:2 20:2 21:2 22:2 23:2 24:3 25:3 26:3 27:3 28:3 29:3 30:3 31:3 32:4 33:4 34:4 35:4 36:4 37:4 38:4 39:4 40:5 41:5 42:5 43:5 44:5 45:5 46:5 47:5 48:6 49:6 50:6 51:6 52:6 53:6 54:6 55:6 56:7 57:7 58:7 59:7 60:7 61:7 62:7 63:7
tc qdisc replace dev swp4 root handle 1: ets bands 8 strict 2 quanta 1000 1000 50000 1000 1000 50000 priomap 7 7 7 4 7 7 1 7
tc qdisc replace dev swp4 parent 1:8 handle 10: red limit 34287552 min 150000 max 1500000 avpkt 1500 probability 1 bandwidth 34000mbit burst 401 ecn
tc qdisc replace dev swp4 parent 1:5 handle 13: red limit 34287552 min 150000 max 1500000 avpkt 1500 probability 1 bandwidth 34000mbit burst 401 ecn
dcb buffer set dev swp4 prio-buffer 0:0 1:0 2:0 3:3 4:0 5:0 6:6 7:0 buffer-size 3:60416
dcb pfc set dev swp4 prio-pfc all:off 3:on
