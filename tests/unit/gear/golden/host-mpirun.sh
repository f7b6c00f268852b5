#!/bin/sh
# nccl-tests over all hosts of the lab clos-2x4 with GPUs; busbw is the column to compare
set -eu
export NCCL_SOCKET_IFNAME='=eno1'
export NCCL_IB_HCA='=mlx5_0:1'
export NCCL_IB_GID_INDEX=3
export NCCL_IB_TC=106
export NCCL_NET_GDR_LEVEL=PHB
export NCCL_DEBUG=INFO
mpirun -np 8 -N 1 --hostfile hostfile -x NCCL_SOCKET_IFNAME \
    -x NCCL_IB_HCA -x NCCL_IB_GID_INDEX -x NCCL_IB_TC -x NCCL_NET_GDR_LEVEL \
    -x NCCL_DEBUG ./build/all_reduce_perf -b 8 -e 8G -f 2 -g 1
