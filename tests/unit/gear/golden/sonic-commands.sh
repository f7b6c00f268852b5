#!/bin/sh
# leaf0 of the lab clos-2x4: SONiC commands for NVIDIA SN3700C, Spectrum-2, 32x 100GbE QSFP28, from its QoS contract
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
# not expressed: hwsku and lanes: those of the image stay (config load merges tables)
#
# Maps, buffers and schedulers have no command: config load merges them from config_db.json.
# What the switch has and this file lacks stays: a BUFFER_PG|Ethernet0|3-4 or a QUEUE|Ethernet0|3-4 of the image
# lies over |3 here. Before the first load delete BUFFER_PG, BUFFER_QUEUE and QUEUE entries of ranges
# (`sonic-db-cli CONFIG_DB keys 'BUFFER_PG|*'`, `sonic-db-cli CONFIG_DB del KEY`), and compare afterwards:
# weft import of `show runningconfiguration all`, --against the lab.
# A changed buffer_model acts after `config save -y` and `config reload -y`, which stops traffic.
# Never `config qos reload` on a switch in service: it writes the image's own template.
set -eu
cd "$(dirname "$0")"
config load -y ./config_db.json
# Mode split-unified: the bgp container keeps this file. In mode split it deletes it at its start.
cp ./frr.conf /etc/sonic/frr/frr.conf
ecnconfig -p WEFT_QUEUE0 -gmin 150000 -gmax 1500000 -gdrop 100 -ymin 150000 -ymax 1500000 -ydrop 100 -rmin 150000 -rmax 1500000 -rdrop 100
ecnconfig -p WEFT_QUEUE3 -gmin 150000 -gmax 1500000 -gdrop 100 -ymin 150000 -ymax 1500000 -ydrop 100 -rmin 150000 -rmax 1500000 -rdrop 100
config interface speed Ethernet0 100000
config interface fec Ethernet0 rs
config interface mtu Ethernet0 9216
config interface pfc priority Ethernet0 3 on
config interface speed Ethernet4 100000
config interface fec Ethernet4 rs
config interface mtu Ethernet4 9216
config interface pfc priority Ethernet4 3 on
config interface speed Ethernet120 100000
config interface fec Ethernet120 rs
config interface mtu Ethernet120 9216
config interface pfc priority Ethernet120 3 on
config interface speed Ethernet124 100000
config interface fec Ethernet124 rs
config interface mtu Ethernet124 9216
config interface pfc priority Ethernet124 3 on
pfcwd interval 100
pfcwd start --action drop --restoration-time 400 Ethernet0 200
pfcwd start --action drop --restoration-time 400 Ethernet4 200
pfcwd start --action drop --restoration-time 400 Ethernet120 200
pfcwd start --action drop --restoration-time 400 Ethernet124 200
config save -y
# The routing mode is read when the container starts: its BGP sessions go down for it.
systemctl restart bgp
# Look: show pfc counters; show priority-group watermark headroom; pfcwd show stats
