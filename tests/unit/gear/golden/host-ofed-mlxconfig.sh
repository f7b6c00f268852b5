#!/bin/sh
# h0 of the lab clos-2x4: firmware settings; they persist, and need a reset of the card
# LINK_TYPE is for VPI cards only: 2 is Ethernet. ADVANCED_PCI_SETTINGS shows the PCIe parameters below it.
set -eu
mst start
mlxconfig -d /dev/mst/mt4119_pciconf0 -y set ROCE_CC_PRIO_MASK_P1=255 CNP_DSCP_P1=48 CNP_802P_PRIO_P1=6 MIN_TIME_BETWEEN_CNPS_P1=4 CLAMP_TGT_RATE_P1=0 CLAMP_TGT_RATE_AFTER_TIME_INC_P1=1 RPG_TIME_RESET_P1=300 RPG_BYTE_RESET_P1=32767 RPG_THRESHOLD_P1=1 RPG_MAX_RATE_P1=0 RPG_AI_RATE_P1=5 RPG_HAI_RATE_P1=50 RPG_GD_P1=11 RPG_MIN_DEC_FAC_P1=50 RPG_MIN_RATE_P1=1 RATE_TO_SET_ON_FIRST_CNP_P1=0 DCE_TCP_G_P1=1019 DCE_TCP_RTT_P1=1 RATE_REDUCE_MONITOR_PERIOD_P1=4 INITIAL_ALPHA_VALUE_P1=1023
if mlxconfig -d /dev/mst/mt4119_pciconf0 query LINK_TYPE_P1; then
  mlxconfig -d /dev/mst/mt4119_pciconf0 -y set LINK_TYPE_P1=2
fi
mlxconfig -d /dev/mst/mt4119_pciconf0 -y set ADVANCED_PCI_SETTINGS=1
mlxconfig -d /dev/mst/mt4119_pciconf0 -y set PCI_WR_ORDERING=1
mlxfwreset -d /dev/mst/mt4119_pciconf0 -y reset
