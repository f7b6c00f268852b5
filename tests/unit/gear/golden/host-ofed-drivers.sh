#!/bin/sh
# h0 of the lab clos-2x4: MLNX_OFED drivers: GPUDirect and NCCL want the drivers that nvidia-peermem was tested with
set -eu
# In the unpacked MLNX_OFED_LINUX-*. Without --add-kernel-support a kernel outside its matrix keeps the stock driver.
./mlnxofedinstall --add-kernel-support --with-nvmf --force
/etc/init.d/openibd restart
systemctl enable openibd
if command -v dpkg; then dpkg -l; else rpm -qa; fi | grep -E 'libibverbs|rdma-core|mlnx-ofed'
# The order matters: RDMA stack, then the GPU's driver, then nvidia-peermem, which is built against both.
modprobe nvidia
modprobe nvidia-peermem
lsmod | grep nvidia_peermem
echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf
cp nvidia-peermem.conf /etc/modprobe.d/
# Registered memory is locked.
printf '* soft memlock unlimited\n* hard memlock unlimited\n' > /etc/security/limits.d/90-rdma.conf
