#!/bin/sh
# h0 of the lab clos-2x4: prove it: link, QoS, then perftest between every pair, then NCCL
set -u
mst start && mst status
ibstat mlx5_0                    # Active, LinkUp, Rate 100, Ethernet
ibv_devinfo -v -d mlx5_0 | grep -E 'active_mtu|GID'
mlnx_qos -i p0
ethtool -S p0 | grep -E 'prio3_(pause|discard)|discards_phy'
# server: ib_send_bw -d mlx5_0 -F --report_gbits -D 10 -x 3 --tclass=106
# client: ib_send_bw -d mlx5_0 -F --report_gbits -D 10 -x 3 --tclass=106 10.0.0.1
# GPUDirect: ib_write_bw -d mlx5_0 --use_cuda=0 -F --report_gbits -D 10 -x 3 --tclass=106
