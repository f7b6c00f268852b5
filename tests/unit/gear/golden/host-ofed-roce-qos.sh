#!/bin/sh
# h0 of the lab clos-2x4: NIC QoS with MLNX_OFED
# RoCE: DSCP 26 -> priority 3, ToS byte 106; CNP: DSCP 48 -> priority 6; PFC on: 3
# not expressed: interface names are the lab's port names: rename them with a .link file, or edit them here
set -eu

# p0, mlx5_0
ethtool -A p0 rx off tx off
ethtool -G p0 rx 1024
ethtool -C p0 rx-usecs 8
ethtool --set-fec p0 encoding rs
mlnx_qos -i p0 --dcbx os
mlnx_qos -i p0 --trust dscp
mlnx_qos -i p0 --pfc 0,0,0,1,0,0,0,0
mlnx_qos -i p0 --dscp2prio set,26,3
mlnx_qos -i p0 --dscp2prio set,48,6
mlnx_qos -i p0 -p 0,0,0,3,0,0,6,0 -s ets,strict,strict,ets,strict,strict,strict,strict -t 50,0,0,50,0,0,0,0
mlnx_qos -i p0 --cable_len 2
cma_roce_mode -d mlx5_0 -p 1 -m 2
cma_roce_tos -d mlx5_0 -t 106
echo 106 > /sys/class/infiniband/mlx5_0/tc/1/traffic_class
echo 1 > /sys/class/net/p0/ecn/roce_np/enable/0
echo 1 > /sys/class/net/p0/ecn/roce_rp/enable/0
echo 1 > /sys/class/net/p0/ecn/roce_np/enable/1
echo 1 > /sys/class/net/p0/ecn/roce_rp/enable/1
echo 1 > /sys/class/net/p0/ecn/roce_np/enable/2
echo 1 > /sys/class/net/p0/ecn/roce_rp/enable/2
echo 1 > /sys/class/net/p0/ecn/roce_np/enable/3
echo 1 > /sys/class/net/p0/ecn/roce_rp/enable/3
echo 1 > /sys/class/net/p0/ecn/roce_np/enable/4
echo 1 > /sys/class/net/p0/ecn/roce_rp/enable/4
echo 1 > /sys/class/net/p0/ecn/roce_np/enable/5
echo 1 > /sys/class/net/p0/ecn/roce_rp/enable/5
echo 1 > /sys/class/net/p0/ecn/roce_np/enable/6
echo 1 > /sys/class/net/p0/ecn/roce_rp/enable/6
echo 1 > /sys/class/net/p0/ecn/roce_np/enable/7
echo 1 > /sys/class/net/p0/ecn/roce_rp/enable/7
echo 48 > /sys/class/net/p0/ecn/roce_np/cnp_dscp
echo 6 > /sys/class/net/p0/ecn/roce_np/cnp_802p_prio
echo 4 > /sys/class/net/p0/ecn/roce_np/min_time_between_cnps
echo 0 > /sys/class/net/p0/ecn/roce_rp/clamp_tgt_rate
echo 1 > /sys/class/net/p0/ecn/roce_rp/clamp_tgt_rate_after_time_inc
echo 300 > /sys/class/net/p0/ecn/roce_rp/rpg_time_reset
echo 32767 > /sys/class/net/p0/ecn/roce_rp/rpg_byte_reset
echo 1 > /sys/class/net/p0/ecn/roce_rp/rpg_threshold
echo 0 > /sys/class/net/p0/ecn/roce_rp/rpg_max_rate
echo 5 > /sys/class/net/p0/ecn/roce_rp/rpg_ai_rate
echo 50 > /sys/class/net/p0/ecn/roce_rp/rpg_hai_rate
echo 11 > /sys/class/net/p0/ecn/roce_rp/rpg_gd
echo 50 > /sys/class/net/p0/ecn/roce_rp/rpg_min_dec_fac
echo 1 > /sys/class/net/p0/ecn/roce_rp/rpg_min_rate
echo 0 > /sys/class/net/p0/ecn/roce_rp/rate_to_set_on_first_cnp
echo 1019 > /sys/class/net/p0/ecn/roce_rp/dce_tcp_g
echo 1 > /sys/class/net/p0/ecn/roce_rp/dce_tcp_rtt
echo 4 > /sys/class/net/p0/ecn/roce_rp/rate_reduce_monitor_period
echo 1023 > /sys/class/net/p0/ecn/roce_rp/initial_alpha_value
