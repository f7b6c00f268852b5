// QoS of a host's NICs: mlnx_qos and sysfs of OFED, or dcb(8) and debugfs with the drivers of the kernel (mlnx-tools;
// iproute2 dcb; Documentation of mlx5 in the kernel). None of it survives a reboot: the unit beside it runs it again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

#include "gear/emit/host_plan.h"

namespace weft::gear {
namespace {

std::string_view ethtool_fec(lab::Fec fec) {
  return fec == lab::Fec::kNone ? "off" : fec == lab::Fec::kBaseR ? "baser" : "rs";
}

// Reaction point parameters by the names that mlxconfig, the sysfs of OFED and debugfs of the kernel share, nearly.
std::vector<std::pair<std::string, std::uint32_t>> rp_parameters(const nic::DcqcnParameters& rp) {
  return {{"clamp_tgt_rate", rp.clamp_tgt_rate},
          {"clamp_tgt_rate_after_time_inc", rp.clamp_tgt_rate_after_time_inc},
          {"rpg_time_reset", rp.rpg_time_reset_us},
          {"rpg_byte_reset", rp.rpg_byte_reset_64B},
          {"rpg_threshold", rp.rpg_threshold},
          {"rpg_max_rate", rp.rpg_max_rate_Mbps},
          {"rpg_ai_rate", rp.rpg_ai_rate_Mbps},
          {"rpg_hai_rate", rp.rpg_hai_rate_Mbps},
          {"rpg_gd", rp.rpg_gd},
          {"rpg_min_dec_fac", rp.rpg_min_dec_fac_percent},
          {"rpg_min_rate", rp.rpg_min_rate_Mbps},
          {"rate_to_set_on_first_cnp", rp.rate_to_set_on_first_cnp_Mbps},
          {"dce_tcp_g", rp.dce_tcp_g},
          {"dce_tcp_rtt", rp.dce_tcp_rtt_us},
          {"rate_reduce_monitor_period", rp.rate_reduce_monitor_period_us},
          {"initial_alpha_value", rp.initial_alpha_value}};
}
// "rpg_time_reset" is rp_time_reset in the kernel's cc_params, "dce_tcp_g" rp_dce_tcp_g.
std::string kernel_name(std::string name) {
  if (name == "clamp_tgt_rate_after_time_inc") return "rp_clamp_tgt_rate_ati";
  return name.starts_with("rpg_") ? "rp_" + name.substr(4) : "rp_" + name;
}

std::string list8(const auto& of) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < 8; ++i) items.push_back(fmt::format("{}", of(i)));
  return fmt::format("{}", fmt::join(items, ","));
}

std::string ofed_port(const HostPlan& plan, const HostPort& port) {
  const nic::PortQos& qos = plan.qos;
  const std::string& name = port.interface;
  std::string text =
      fmt::format("mlnx_qos -i {} --dcbx os\nmlnx_qos -i {} --trust {}\n", name, name, qos.trust_dscp ? "dscp" : "pcp");
  text += fmt::format("mlnx_qos -i {} --pfc {}\n", name, list8([&](std::size_t i) { return plan.is_pfc(i) ? 1 : 0; }));
  if (qos.trust_dscp) {
    for (std::size_t dscp = 0; dscp < 64; ++dscp) {
      const bool own = dscp == qos.dscp || dscp == qos.cnp_dscp;
      if (own || plan.priority_of_dscp[dscp] != dscp / 8)
        text += fmt::format("mlnx_qos -i {} --dscp2prio set,{},{}\n", name, dscp, plan.priority_of_dscp[dscp]);
    }
  }
  if (plan.scheduler) {
    const HostScheduler& ets = *plan.scheduler;
    text += fmt::format("mlnx_qos -i {} -p {} -s {} -t {}\n", name,
                        list8([&](std::size_t i) { return int{ets.class_of_priority[i]}; }),
                        list8([&](std::size_t i) { return ets.strict[i] ? "strict" : "ets"; }),
                        list8([&](std::size_t i) { return ets.percent[i]; }));
  }
  if (port.cable_m > 0) text += fmt::format("mlnx_qos -i {} --cable_len {}\n", name, port.cable_m);
  return text;
}

std::string ofed_rdma(const HostPlan& plan, const HostPort& port) {
  const nic::PortQos& qos = plan.qos;
  const bool dcqcn = qos.congestion.kind == nic::CongestionKind::kDcqcn;
  std::string text;
  if (!port.second_of_bond) {
    text += fmt::format("cma_roce_mode -d {} -p 1 -m 2\ncma_roce_tos -d {} -t {}\n", port.device, port.device,
                        plan.traffic_class());
    text += fmt::format("echo {} > /sys/class/infiniband/{}/tc/1/traffic_class\n", plan.traffic_class(), port.device);
  }
  const std::string ecn = fmt::format("/sys/class/net/{}/ecn", port.interface);
  for (std::size_t priority = 0; priority < 8; ++priority) {
    const int on = dcqcn && (qos.cc_prio_mask >> priority & 1) != 0 ? 1 : 0;
    text += fmt::format("echo {} > {}/roce_np/enable/{}\necho {} > {}/roce_rp/enable/{}\n", on, ecn, priority, on, ecn,
                        priority);
  }
  if (!dcqcn) return text;
  text += fmt::format(
      "echo {} > {}/roce_np/cnp_dscp\necho {} > {}/roce_np/cnp_802p_prio\necho {} > {}/roce_np/min_time_between_cnps\n",
      qos.cnp_dscp, ecn, qos.cnp_priority, ecn, port.min_time_between_cnps_us, ecn);
  for (const auto& [name, value] : rp_parameters(qos.congestion.dcqcn))
    text += fmt::format("echo {} > {}/roce_rp/{}\n", value, ecn, name);
  return text;
}

std::string kernel_port(const HostPlan& plan, const HostPort& port) {
  const nic::PortQos& qos = plan.qos;
  const std::string& name = port.interface;
  std::string text;
  if (!port.mlx5) text += fmt::format("ethtool --set-priv-flags {} fw-lldp-agent off\n", name);
  text += fmt::format("dcb dcbx set dev {} host ieee\n", name);
  if (qos.trust_dscp) {
    std::string map;
    for (std::size_t dscp = 0; dscp < 64; ++dscp) map += fmt::format(" {}:{}", dscp, plan.priority_of_dscp[dscp]);
    text += fmt::format("dcb app replace dev {} dscp-prio{}\n", name, map);
  }
  std::string pfc = " all:off";
  for (std::size_t priority = 0; priority < 8; ++priority)
    pfc += plan.is_pfc(priority) ? fmt::format(" {}:on", priority) : "";
  text += fmt::format("dcb pfc set dev {} prio-pfc{}\n", name, pfc);
  if (plan.scheduler) {
    std::string classes, tsa, share;
    for (std::size_t i = 0; i < 8; ++i) {
      classes += fmt::format(" {}:{}", i, plan.scheduler->class_of_priority[i]);
      tsa += fmt::format(" {}:{}", i, plan.scheduler->strict[i] ? "strict" : "ets");
      share += fmt::format(" {}:{}", i, plan.scheduler->percent[i]);
    }
    text += fmt::format("dcb ets set dev {} prio-tc{} tc-tsa{} tc-bw{}\n", name, classes, tsa, share);
  }
  if (port.mlx5 && plan.qos.pfc_mask != 0) {
    std::string buffers;
    for (std::size_t i = 0; i < 8; ++i) buffers += fmt::format(" {}:{}", i, plan.is_pfc(i) ? 1 : 0);
    text += fmt::format("dcb buffer set dev {} prio-buffer{}\n", name, buffers);
  }
  return text;
}

std::string kernel_rdma(const HostPlan& plan, const HostPort& port) {
  const nic::PortQos& qos = plan.qos;
  const std::string cma = "/sys/kernel/config/rdma_cm/" + port.device;
  std::string text;
  if (!port.second_of_bond)
    text += fmt::format(
        "modprobe rdma_cm\nmkdir -p {}\necho 'RoCE v2' > {}/ports/1/default_roce_mode\necho {} > "
        "{}/ports/1/default_roce_tos\n",
        cma, cma, plan.traffic_class(), cma);
  if (!port.mlx5) {
    return text + fmt::format(
                      "pci=$(basename \"$(readlink -f /sys/class/net/{}/device)\")\n"
                      "devlink dev param set \"pci/$pci\" name enable_roce value true cmode runtime\n",
                      port.interface);
  }
  if (qos.congestion.kind != nic::CongestionKind::kDcqcn) return text;
  text += fmt::format(
      "pci=$(basename \"$(readlink -f /sys/class/net/{}/device)\")\ncc=/sys/kernel/debug/mlx5/$pci/cc_params\n"
      "if [ -d \"$cc\" ]; then\n",
      port.interface);
  text += fmt::format(
      "  echo {} > \"$cc/np_cnp_dscp\"\n  echo {} > \"$cc/np_cnp_prio\"\n  echo {} > "
      "\"$cc/np_min_time_between_cnps\"\n",
      qos.cnp_dscp, qos.cnp_priority, port.min_time_between_cnps_us);
  for (const auto& [name, value] : rp_parameters(qos.congestion.dcqcn))
    text += fmt::format("  echo {} > \"$cc/{}\"\n", value, kernel_name(name));
  return text + "fi\n";
}

}  // namespace

std::string host_qos_script(const HostPlan& plan, SwitchOutput& out) {
  const nic::PortQos& qos = plan.qos;
  std::string text =
      "#!/bin/sh\n" + host_head(plan, plan.ofed ? "NIC QoS with MLNX_OFED" : "NIC QoS with the kernel's drivers");
  text += fmt::format("# RoCE: DSCP {} -> priority {}, ToS byte {}; CNP: DSCP {} -> priority {}; PFC on:", qos.dscp,
                      qos.priority, plan.traffic_class(), qos.cnp_dscp, qos.cnp_priority);
  for (std::size_t priority = 0; priority < 8; ++priority)
    text += plan.is_pfc(priority) ? fmt::format(" {}", priority) : "";
  text += qos.pfc_mask == 0 ? " none\n" : "\n";
  if (!plan.ofed && plan.any_mlx5) {
    out.note(
        "the global traffic class of /sys/class/infiniband/*/tc is OFED's: programs set their own (NCCL_IB_TC, "
        "--tclass)");
    for (const HostPort& port : plan.ports) {
      if (port.mlx5 && port.cable_m > 7)
        out.note(fmt::format("{}: a cable of {} m: the kernel sizes the NIC's headroom for 7 m", port.interface,
                             port.cable_m));
    }
  }
  text += out.comments("# ") + "set -eu\n";
  const bool pause = qos.flow_control == fabric::FlowControl::kPause;
  for (const HostPort& port : plan.ports) {
    if (!port.cabled) continue;
    text += fmt::format("\n# {}, {}\n", port.interface, port.device);
    text += fmt::format("ethtool -A {} rx {} tx {}\n", port.interface, pause ? "on" : "off", pause ? "on" : "off");
    text += fmt::format("ethtool -G {} rx {}\nethtool -C {} rx-usecs {}\n", port.interface, plan.rx_ring,
                        port.interface, plan.rx_usecs);
    text += fmt::format("ethtool --set-fec {} encoding {}\n", port.interface, ethtool_fec(port.fec));
    if (port.max_read_request_B > 0) {
      // Bits 14:12 of the Device Control Register: 128 B shifted by it.
      const int code = std::countr_zero(static_cast<std::uint64_t>(port.max_read_request_B / 128));
      text += fmt::format(
          "# MaxReadReq {} B\nsetpci -s \"$(basename \"$(readlink -f /sys/class/net/{}/device)\")\" "
          "CAP_EXP+8.w={}000:7000\n",
          port.max_read_request_B, port.interface, code);
    }
    text +=
        plan.ofed ? ofed_port(plan, port) + ofed_rdma(plan, port) : kernel_port(plan, port) + kernel_rdma(plan, port);
    if (!qos.trust_dscp && port.vlan && !port.second_of_bond) {
      text += fmt::format("ip link set dev {}.{} type vlan egress-qos-map 0:0 {}:{}\n", port.layer3(), *port.vlan,
                          qos.priority, qos.priority);
    }
  }
  return text;
}

std::string host_qos_unit(const HostPlan& plan) {
  std::string after = plan.ofed ? " openibd.service" : " rdma-load-modules@rdma.service";
  for (const HostPort& port : plan.ports) {
    if (port.cabled) after += fmt::format(" sys-subsystem-net-devices-{}.device", port.interface);
  }
  return host_head(plan, "mlnx_qos, dcb, sysfs and configfs are lost at a reboot: this runs them again") +
         "# Install: cp roce-qos.sh /usr/local/sbin/; cp roce-qos.service /etc/systemd/system/; systemctl enable --now "
         "roce-qos\n"
         "[Unit]\nDescription=RoCE QoS of the fabric ports\nAfter=" +
         after.substr(1) +
         "\nBefore=network-online.target\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh "
         "/usr/local/sbin/roce-qos.sh\n\n"
         "[Install]\nWantedBy=multi-user.target\n";
}

std::string host_mlxconfig(const HostPlan& plan) {
  const nic::PortQos& qos = plan.qos;
  std::string text = "#!/bin/sh\n" + host_head(plan, "firmware settings; they persist, and need a reset of the card") +
                     "# LINK_TYPE is for VPI cards only: 2 is Ethernet. ADVANCED_PCI_SETTINGS shows the PCIe "
                     "parameters below it.\nset -eu\nmst start\n";
  std::vector<std::string> cards;
  for (const HostPort& port : plan.ports) {
    const std::string card = port.mst.substr(0, port.mst.find('.'));
    if (card.empty() || std::find(cards.begin(), cards.end(), card) != cards.end()) continue;
    cards.push_back(card);
    std::size_t number = 0;
    std::string settings;
    for (const HostPort& each : plan.ports) {
      if (each.mst.substr(0, each.mst.find('.')) != card) continue;
      ++number;
      settings +=
          fmt::format(" ROCE_CC_PRIO_MASK_P{}={} CNP_DSCP_P{}={} CNP_802P_PRIO_P{}={} MIN_TIME_BETWEEN_CNPS_P{}={}",
                      number, qos.congestion.kind == nic::CongestionKind::kDcqcn ? qos.cc_prio_mask : std::uint8_t{0},
                      number, qos.cnp_dscp, number, qos.cnp_priority, number, each.min_time_between_cnps_us);
      for (const auto& [name, value] : rp_parameters(qos.congestion.dcqcn)) {
        std::string upper = name;
        for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        if (qos.congestion.kind == nic::CongestionKind::kDcqcn)
          settings += fmt::format(" {}_P{}={}", upper, number, value);
      }
    }
    text += fmt::format("mlxconfig -d /dev/mst/{} -y set{}\n", card, settings);
    text += fmt::format("if mlxconfig -d /dev/mst/{} query LINK_TYPE_P1; then\n", card);
    text += fmt::format("  mlxconfig -d /dev/mst/{} -y set LINK_TYPE_P1=2\nfi\n", card);
    text += fmt::format("mlxconfig -d /dev/mst/{} -y set ADVANCED_PCI_SETTINGS=1\n", card);
    text += fmt::format("mlxconfig -d /dev/mst/{} -y set PCI_WR_ORDERING={}\n", card, port.relaxed_ordering ? 1 : 0);
    if (!plan.vm) text += fmt::format("mlxfwreset -d /dev/mst/{} -y reset\n", card);
  }
  if (plan.vm)
    text += "# A guest cannot reset the card: restart the hypervisor, or mlxfwreset there with this VM stopped.\n";
  return text;
}

}  // namespace weft::gear
