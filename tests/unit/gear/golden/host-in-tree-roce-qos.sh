#!/bin/sh
# h0 of the lab clos-2x4: NIC QoS with the kernel's drivers
# RoCE: DSCP 26 -> priority 3, ToS byte 106; CNP: DSCP 48 -> priority 6; PFC on: 3
# not expressed: interface names are the lab's port names: rename them with a .link file, or edit them here
# not expressed: the global traffic class of /sys/class/infiniband/*/tc is OFED's: programs set their own (NCCL_IB_TC, --tclass)
set -eu

# p0, mlx5_0
ethtool -A p0 rx off tx off
ethtool -G p0 rx 1024
ethtool -C p0 rx-usecs 8
ethtool --set-fec p0 encoding rs
dcb dcbx set dev p0 host ieee
dcb app replace dev p0 dscp-prio 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 8:1 9:1 10:1 11:1 12:1 13:1 14:1 15:1 16:2 17:2 18:2 19:2 20:2 21:2 22:2 23:2 24:3 25:3 26:3 27:3 28:3 29:3 30:3 31:3 32:4 33:4 34:4 35:4 36:4 37:4 38:4 39:4 40:5 41:5 42:5 43:5 44:5 45:5 46:5 47:5 48:6 49:6 50:6 51:6 52:6 53:6 54:6 55:6 56:7 57:7 58:7 59:7 60:7 61:7 62:7 63:7
dcb pfc set dev p0 prio-pfc all:off 3:on
dcb ets set dev p0 prio-tc 0:0 1:0 2:0 3:3 4:0 5:0 6:6 7:0 tc-tsa 0:ets 1:strict 2:strict 3:ets 4:strict 5:strict 6:strict 7:strict tc-bw 0:50 1:0 2:0 3:50 4:0 5:0 6:0 7:0
dcb buffer set dev p0 prio-buffer 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0
modprobe rdma_cm
mkdir -p /sys/kernel/config/rdma_cm/mlx5_0
echo 'RoCE v2' > /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode
echo 106 > /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos
pci=$(basename "$(readlink -f /sys/class/net/p0/device)")
cc=/sys/kernel/debug/mlx5/$pci/cc_params
if [ -d "$cc" ]; then
  echo 48 > "$cc/np_cnp_dscp"
  echo 6 > "$cc/np_cnp_prio"
  echo 4 > "$cc/np_min_time_between_cnps"
  echo 0 > "$cc/rp_clamp_tgt_rate"
  echo 1 > "$cc/rp_clamp_tgt_rate_ati"
  echo 300 > "$cc/rp_time_reset"
  echo 32767 > "$cc/rp_byte_reset"
  echo 1 > "$cc/rp_threshold"
  echo 0 > "$cc/rp_max_rate"
  echo 5 > "$cc/rp_ai_rate"
  echo 50 > "$cc/rp_hai_rate"
  echo 11 > "$cc/rp_gd"
  echo 50 > "$cc/rp_min_dec_fac"
  echo 1 > "$cc/rp_min_rate"
  echo 0 > "$cc/rp_rate_to_set_on_first_cnp"
  echo 1019 > "$cc/rp_dce_tcp_g"
  echo 1 > "$cc/rp_dce_tcp_rtt"
  echo 4 > "$cc/rp_rate_reduce_monitor_period"
  echo 1023 > "$cc/rp_initial_alpha_value"
fi
