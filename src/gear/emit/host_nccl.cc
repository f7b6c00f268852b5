// Drivers of a host, what NCCL is started with, and commands that prove that it works.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gear/emit/host_plan.h"

namespace weft::gear {
namespace {

std::string hca_list(const HostPlan& plan) {
  std::vector<std::string> names;
  for (const HostPort& port : plan.ports) {
    if (port.cabled && !port.second_of_bond) names.push_back(port.device + ":1");
  }
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

std::string host_drivers(const HostPlan& plan) {
  std::string text = "#!/bin/sh\n" +
                     host_head(plan, fmt::format("{} drivers: {}", plan.ofed ? "MLNX_OFED" : "in-tree", plan.reason)) +
                     "set -eu\n";
  if (plan.ofed) {
    text +=
        "# In the unpacked MLNX_OFED_LINUX-*. Without --add-kernel-support a kernel outside its matrix keeps the stock "
        "driver.\n"
        "./mlnxofedinstall --add-kernel-support --with-nvmf --force\n"
        "/etc/init.d/openibd restart\nsystemctl enable openibd\n"
        "if command -v dpkg; then dpkg -l; else rpm -qa; fi | grep -E 'libibverbs|rdma-core|mlnx-ofed'\n";
  } else {
    text +=
        "if command -v apt-get; then\n"
        "  apt-get install -y rdma-core ibverbs-utils infiniband-diags perftest ethtool iproute2\nelse\n"
        "  dnf install -y rdma-core libibverbs-utils infiniband-diags perftest ethtool iproute\nfi\n";
    if (!plan.mlx5) text += "modprobe ice\nmodprobe irdma\n";
  }
  if (plan.gpudirect) {
    text +=
        "# The order matters: RDMA stack, then the GPU's driver, then nvidia-peermem, which is built against both.\n"
        "modprobe nvidia\nmodprobe nvidia-peermem\nlsmod | grep nvidia_peermem\n"
        "echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf\n"
        "cp nvidia-peermem.conf /etc/modprobe.d/\n";
  } else if (plan.gpus > 0) {
    text += plan.gpu_api == "cuda"
                ? "# No GPUDirect here: this lab says so, or the GPU's driver has none. Transfers are staged in host "
                  "memory.\n"
                : "# ROCm registers GPU memory by amdgpu itself, or by DMA-BUF: no peer memory module.\n";
  }
  text +=
      "# Registered memory is locked.\nprintf '* soft memlock unlimited\\n* hard memlock unlimited\\n' > "
      "/etc/security/limits.d/90-rdma.conf\n";
  return text;
}

std::string nccl_conf(const HostPlan& plan) {
  std::string text = host_head(plan, "/etc/nccl.conf, or $NCCL_CONF_FILE");
  text += fmt::format(
      "# bootstrap on the management network, data on the RDMA devices\nNCCL_SOCKET_IFNAME=={}\nNCCL_IB_HCA=={}\n",
      plan.management, hca_list(plan));
  text += "# the index of RoCE v2 with the IPv4 address: check it with show_gids\nNCCL_IB_GID_INDEX=3\n";
  text += fmt::format("# the ToS byte (DSCP {} and ECT), not the DSCP\nNCCL_IB_TC={}\n", plan.qos.dscp,
                      plan.traffic_class());
  text += fmt::format("NCCL_NET_GDR_LEVEL={}\n", plan.gpudirect ? "PHB" : "LOC");
  return text +
         "# INFO on the first run of each size: look for NET/IB ... GDRDMA; NET/Socket means that RDMA is not "
         "used\nNCCL_DEBUG=WARN\n";
}

void nccl_job(const lab::Lab& lab, const HostPlan& first, Emission& emission) {
  std::string hosts;
  std::size_t ranks = 0, most = 0;
  for (std::uint32_t i = 0; i < lab.hosts.size(); ++i) {
    const std::size_t gpus = own_gpus(lab, i).size();
    if (gpus == 0) continue;
    hosts += fmt::format("{} slots={}\n", lab.hosts[i].name, gpus);
    ranks += gpus;
    most = std::max(most, gpus);
  }
  emission.files.push_back({"job/hostfile", hosts, false});
  emission.files.push_back(
      {"job/mpirun.sh",
       fmt::format(
           "#!/bin/sh\n# nccl-tests over all hosts of the lab {} with GPUs; busbw is the column to compare\nset -eu\n"
           "export NCCL_SOCKET_IFNAME='={}'\nexport NCCL_IB_HCA='={}'\nexport NCCL_IB_GID_INDEX=3\nexport "
           "NCCL_IB_TC={}\n"
           "export NCCL_NET_GDR_LEVEL={}\nexport NCCL_DEBUG=INFO\n"
           "mpirun -np {} -N {} --hostfile hostfile -x NCCL_SOCKET_IFNAME \\\n"
           "    -x NCCL_IB_HCA -x NCCL_IB_GID_INDEX -x NCCL_IB_TC -x NCCL_NET_GDR_LEVEL \\\n"
           "    -x NCCL_DEBUG ./build/all_reduce_perf -b 8 -e 8G -f 2 -g 1\n",
           lab.name, first.management, hca_list(first), first.traffic_class(), first.gpudirect ? "PHB" : "LOC", ranks,
           most),
       true});
}

std::string host_check(const HostPlan& plan) {
  std::string text =
      "#!/bin/sh\n" + host_head(plan, "prove it: link, QoS, then perftest between every pair, then NCCL") + "set -u\n";
  if (plan.ofed) text += "mst start && mst status\n";
  for (const HostPort& port : plan.ports) {
    if (!port.cabled) continue;
    if (!port.second_of_bond) {
      if (port.bond.empty()) {
        text += fmt::format("ibstat {}                    # Active, LinkUp, Rate {}, Ethernet\n", port.device,
                            port.rate_bps / 1'000'000'000);
      } else {
        text += fmt::format("cat /proc/net/bonding/{}    # 802.3ad, {} up, one aggregator\n", port.bond,
                            fmt::join(plan.members(port.bond), " and "));
        text += fmt::format("ibstat {}                    # Active, LinkUp, Ethernet; the ports have no devices\n",
                            port.device);
      }
      text += fmt::format("ibv_devinfo -v -d {} | grep -E 'active_mtu|GID'\n", port.device);
    }
    text += plan.ofed
                ? fmt::format("mlnx_qos -i {}\n", port.interface)
                : fmt::format("dcb pfc show dev {}\ndcb app show dev {} dscp-prio\n", port.interface, port.interface);
    text += fmt::format("ethtool -S {} | grep -E 'prio{}_(pause|discard)|discards_phy'\n", port.interface,
                        plan.qos.priority);
    if (port.second_of_bond) continue;
    text += fmt::format(
        "# server: ib_send_bw -d {} -F --report_gbits -D 10 -x 3 --tclass={}\n"
        "# client: ib_send_bw -d {} -F --report_gbits -D 10 -x 3 --tclass={} {}\n",
        port.device, plan.traffic_class(), port.device, plan.traffic_class(), port.address);
    if (plan.gpudirect)
      text += fmt::format("# GPUDirect: ib_write_bw -d {} --use_cuda={} -F --report_gbits -D 10 -x 3 --tclass={}\n",
                          port.device, port.gpu.value_or(0), plan.traffic_class());
  }
  return text;
}

}  // namespace weft::gear
