// Hosts: what NICs are set to equals what the simulated NICs run with; drivers by rule; networks in four dialects.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/gear_labs.h"

namespace weft::gear {
namespace {

using support::emitted;
using support::file_of;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}
std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(EmitHost, OfedReadsBack) {
  const auto lab = support::gear_lab_file(
      "labs/gear/clos-2x4.yaml", {"qos.congestion={algorithm: dcqcn, RPG_AI_RATE: 17, MIN_TIME_BETWEEN_CNPS: 9}"});
  const auto& host = lab.hosts[0];
  const auto emission = emitted(lab, "host");
  const std::string text = file_of(emission, "h0/roce-qos.sh");
  EXPECT_TRUE(has(text, "mlnx_qos -i p0 --trust dscp\nmlnx_qos -i p0 --pfc 0,0,0,1,0,0,0,0\n"));
  EXPECT_TRUE(has(text, "--dscp2prio set,26,3\n"));
  EXPECT_TRUE(has(text, "--dscp2prio set,48,6\n"));
  EXPECT_TRUE(
      has(text, "-p 0,0,0,3,0,0,6,0 -s ets,strict,strict,ets,strict,strict,strict,strict -t 50,0,0,50,0,0,0,0\n"));
  EXPECT_TRUE(has(text, "mlnx_qos -i p0 --cable_len 2\n"));
  EXPECT_TRUE(has(text, "cma_roce_mode -d mlx5_0 -p 1 -m 2\ncma_roce_tos -d mlx5_0 -t 106\n"));
  EXPECT_TRUE(has(text, "echo 106 > /sys/class/infiniband/mlx5_0/tc/1/traffic_class\n"));
  EXPECT_EQ(host.qos.congestion.dcqcn.rpg_ai_rate_Mbps, 17u);
  EXPECT_TRUE(has(text, "echo 17 > /sys/class/net/p0/ecn/roce_rp/rpg_ai_rate\n"));
  EXPECT_TRUE(has(text, "echo 9 > /sys/class/net/p0/ecn/roce_np/min_time_between_cnps\n"));
  EXPECT_TRUE(has(text, "ethtool -G p0 rx " + std::to_string(host.model.rx_ring) + "\n"));
  EXPECT_TRUE(has(text, "ethtool --set-fec p0 encoding rs\n"));
  const std::string firmware = file_of(emission, "h0/mlxconfig.sh");
  EXPECT_TRUE(has(firmware, "/dev/mst/mt4119_pciconf0 -y set"));
  EXPECT_TRUE(has(firmware, " RPG_AI_RATE_P1=17 "));
  EXPECT_TRUE(has(firmware, " MIN_TIME_BETWEEN_CNPS_P1=9 "));
  EXPECT_TRUE(has(firmware, "LINK_TYPE_P1=2"));
  EXPECT_TRUE(
      has(file_of(emission, "h0/roce-qos.service"), "After=openibd.service sys-subsystem-net-devices-p0.device\n"));
}

// The rule: OFED with GPUs, in-tree without, and never for another vendor's NIC.
TEST(EmitHost, DriversByRule) {
  const auto with_gpus = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const std::string ofed = file_of(emitted(with_gpus, "host"), "h0/drivers.sh");
  EXPECT_TRUE(has(ofed, "./mlnxofedinstall --add-kernel-support"));
  // OFED, then the GPU's driver, then peermem.
  EXPECT_LT(ofed.find("mlnxofedinstall"), ofed.find("modprobe nvidia\n"));
  EXPECT_LT(ofed.find("modprobe nvidia\n"), ofed.find("modprobe nvidia-peermem"));
  EXPECT_TRUE(has(file_of(emitted(with_gpus, "host"), "h0/nvidia-peermem.conf"),
                  "softdep nvidia_peermem pre: mlx5_ib nvidia\n"));
  const auto without = support::gear_lab_file("labs/live/leaf-spine-100g.yaml");
  const auto emission = emitted(without, "host");
  EXPECT_TRUE(has(file_of(emission, "h0/drivers.sh"), "apt-get install -y rdma-core"));
  EXPECT_TRUE(has(file_of(emission, "h0/drivers.sh"), "else\n  dnf install -y rdma-core libibverbs-utils"));
  EXPECT_TRUE(has(file_of(emission, "h0/roce-qos.sh"), "dcb pfc set dev p0 prio-pfc all:off 3:on\n"));
  EmitOptions asked;
  asked.stack = DriverStack::kInTree;
  EXPECT_TRUE(has(file_of(emitted(with_gpus, "host", asked), "h0/drivers.sh"), "in-tree drivers: asked for"));
  const auto intel = support::gear_lab_file("labs/live/e810-and-cx6.yaml");
  asked.stack = DriverStack::kOfed;
  const auto mixed = emitted(intel, "host", asked);
  bool irdma = false;
  for (const EmittedFile& file : mixed.files)
    irdma = irdma || (file.path.ends_with("drivers.sh") && has(file.text, "modprobe irdma"));
  EXPECT_TRUE(irdma);
}

// Each port has the commands of its own driver, and OFED that was asked for and cannot be is not silent.
TEST(EmitHost, MixedNicsHaveTheirOwnCommands) {
  const auto lab = support::gear_lab_file("labs/live/e810-and-cx6.yaml", {"qos={profile: roce-lossless}"});
  EmitOptions options;
  options.node = "b";
  options.stack = DriverStack::kOfed;
  const auto emission = emitted(lab, "host", options);
  const std::string text = file_of(emission, "b/roce-qos.sh");
  const std::size_t second = text.find("\n# p1, ");
  ASSERT_NE(second, text.npos);
  const std::string nvidia = text.substr(0, second), intel = text.substr(second);
  EXPECT_FALSE(has(nvidia, "fw-lldp-agent") || has(nvidia, "devlink")) << nvidia;
  EXPECT_TRUE(has(nvidia, "np_cnp_dscp")) << nvidia;
  EXPECT_TRUE(has(nvidia, "dcb buffer set dev p0")) << nvidia;
  EXPECT_TRUE(has(intel, "--set-priv-flags p1 fw-lldp-agent off")) << intel;
  EXPECT_FALSE(has(intel, "cc_params") || has(intel, "dcb buffer")) << intel;
  EXPECT_EQ(count_of(file_of(emission, "b/mlxconfig.sh"), "mlxfwreset"), 1u);
  bool ofed = false;
  for (const EmitNote& note : emission.notes) ofed = ofed || has(note.message, "MLNX_OFED");
  EXPECT_TRUE(ofed);
}

TEST(EmitHost, InTreeReadsBack) {
  const auto lab = support::gear_lab_file("labs/live/leaf-spine-100g.yaml", {"qos.congestion={RPG_TIME_RESET: 123}"});
  const std::string text = file_of(emitted(lab, "host"), "h0/roce-qos.sh");
  EXPECT_TRUE(has(text, "dcb app replace dev p0 dscp-prio 0:0 "));
  EXPECT_TRUE(has(text, " 26:3 "));
  EXPECT_TRUE(has(text, "dcb ets set dev p0 prio-tc 0:0 1:0 2:0 3:3 4:0 5:0 6:6 7:0 tc-tsa 0:ets "));
  EXPECT_TRUE(has(text, " tc-bw 0:50 1:0 2:0 3:50 "));
  EXPECT_TRUE(has(text, "dcb buffer set dev p0 prio-buffer 0:0 1:0 2:0 3:1 "));
  EXPECT_TRUE(has(text, "echo 106 > /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos\n"));
  EXPECT_TRUE(has(text, "echo 123 > \"$cc/rp_time_reset\"\n"));
  EXPECT_TRUE(has(text, "echo 48 > \"$cc/np_cnp_dscp\"\n"));
}

TEST(EmitHost, NetworksInFourDialects) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  EmitOptions options;
  options.node = "h2";
  EXPECT_TRUE(has(file_of(emitted(lab, "host", options), "h2/60-roce.yaml"),
                  "    p0:\n      mtu: 9000\n      addresses: [10.0.1.1/24]\n      routes:\n        - {to: "
                  "10.0.0.0/24, via: 10.0.1.254}\n"));
  options.network = Network::kNmcli;
  EXPECT_TRUE(has(file_of(emitted(lab, "host", options), "h2/network.sh"),
                  "nmcli connection modify p0 802-3-ethernet.mtu 9000\n"));
  options.network = Network::kIp;
  EXPECT_TRUE(has(file_of(emitted(lab, "host", options), "h2/network.sh"),
                  "ip link set dev p0 mtu 9000 up\nip address replace 10.0.1.1/24 dev p0\nip route replace 10.0.0.0/24 "
                  "via 10.0.1.254 dev p0\n"));
  options.network = Network::kNetworkd;
  const std::string networkd = file_of(emitted(lab, "host", options), "h2/10-p0.network");
  EXPECT_TRUE(has(networkd, "[Match]\nName=p0\n\n[Link]\nMTUBytes=9000\n\n[Address]\nAddress=10.0.1.1/24\n"));
  EXPECT_EQ(count_of(networkd, "Gateway=10.0.1.254\n"), 3u);
}

// Several ports: routes by source, ARP for its own address only. A VLAN: an interface of its own.
TEST(EmitHost, SeveralPortsAndVlans) {
  const auto lab = support::gear_lab(
      "version: 1\nname: rails\nfabric: {template: rail-optimised, hosts: 2, rails: 2, spines: 1, switch: sn3700c, "
      "host: {nic: cx5-100g, mtu: 4200 B}}\n"
      "qos: {profile: roce-lossless}\n");
  EmitOptions options;
  options.node = "h0";
  const auto emission = emitted(lab, "host", options);
  const std::string netplan = file_of(emission, "h0/60-roce.yaml");
  EXPECT_TRUE(has(netplan, "routing-policy:\n        - {from: 10.0.0.1, table: 101}\n")) << netplan;
  EXPECT_TRUE(has(netplan, "table: 102}\n"));
  EXPECT_TRUE(has(file_of(emission, "h0/90-roce-sysctl.conf"), "net.ipv4.conf.all.arp_ignore = 1\n"));
  const auto tagged = support::gear_lab(
      "version: 1\nname: tagged\nnodes:\n  a: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24, "
      "vlan: 42}}}]}\n"
      "  b: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.2/24, vlan: 42}}}]}\nlinks: "
      "[{endpoints: [\"a:p0\", \"b:p0\"]}]\n"
      "qos: {profile: roce-lossless, trust: pcp}\n");
  options.node = "a";
  const auto vlan = emitted(tagged, "host", options);
  EXPECT_TRUE(has(file_of(vlan, "a/60-roce.yaml"), "  vlans:\n    p0.42:\n      id: 42\n      link: p0\n"));
  EXPECT_TRUE(has(file_of(vlan, "a/roce-qos.sh"), "egress-qos-map 0:0 3:3\n"));
}

// Two rails over a spine, two hosts on each of two pairs of leaves: h0 reaches the rails of h2 by two ports.
TEST(EmitHost, RoutesOfSeveralPortsDoNotCollide) {
  std::string text = "version: 1\nname: rails\nnodes:\n";
  std::string links = "links:\n";
  for (int host = 0; host < 2; ++host) {
    text += fmt::format("  h{}: {{kind: host, nics: [", host);
    for (int rail = 0; rail < 2; ++rail) {
      text += fmt::format("{}{{model: cx5-100g, ports: {{p{}: {{address: 10.{}.{}.1/24, mtu: 4200 B}}}}}}",
                          rail == 0 ? "" : ", ", rail, host, rail);
      links += fmt::format("  - {{endpoints: [\"h{}:p{}\", \"leaf{}{}:swp1\"]}}\n", host, rail, host, rail);
      links +=
          fmt::format("  - {{endpoints: [\"leaf{}{}:swp2\", \"spine:swp{}\"]}}\n", host, rail, host * 2 + rail + 1);
    }
    text += fmt::format(
        "]}}\n  leaf{}0: {{kind: switch, model: sn3700c}}\n  leaf{}1: {{kind: switch, model: sn3700c}}\n", host, host);
  }
  const auto lab =
      support::gear_lab(text + "  spine: {kind: switch, model: sn3700c}\n" + links + "qos: {profile: roce-lossless}\n");
  EmitOptions options;
  options.node = "h0";
  const std::string netplan = file_of(emitted(lab, "host", options), "h0/60-roce.yaml");
  EXPECT_TRUE(has(netplan, "- {to: 10.1.0.0/24, via: 10.0.0.254, metric: 101}\n")) << netplan;
  EXPECT_TRUE(has(netplan, "- {to: 10.1.0.0/24, via: 10.0.1.254, metric: 102}\n")) << netplan;
  // p1 is connected to it: only what is sent from p0's address goes by p0's leaf.
  EXPECT_EQ(count_of(netplan, "to: 10.0.1.0/24"), 1u) << netplan;
  EXPECT_TRUE(has(netplan, "- {to: 10.0.1.0/24, via: 10.0.0.254, table: 101}\n")) << netplan;
  options.network = Network::kNmcli;
  const std::string nmcli = file_of(emitted(lab, "host", options), "h0/network.sh");
  EXPECT_TRUE(has(nmcli, "+ipv4.routes '10.1.0.0/24 10.0.1.254 102'\n")) << nmcli;
  EXPECT_FALSE(has(nmcli, "'10.0.1.0/24 10.0.0.254'")) << nmcli;
  options.network = Network::kNetworkd;
  const std::string networkd = file_of(emitted(lab, "host", options), "h0/10-p1.network");
  EXPECT_TRUE(has(networkd, "Destination=10.1.0.0/24\nGateway=10.0.1.254\nMetric=102\n")) << networkd;
  options.network = Network::kIp;
  const std::string ip = file_of(emitted(lab, "host", options), "h0/network.sh");
  EXPECT_FALSE(has(ip, "ip route replace 10.0.1.0/24 via 10.0.0.254 dev p0 metric")) << ip;
}

// Leaves of rails that no link joins: no routes, and a word about it.
TEST(EmitHost, RailsWithoutLinksHaveNoRoutes) {
  const auto lab = support::gear_lab_file("labs/ai/one-slow-rail.yaml");
  for (Network network : {Network::kNetplan, Network::kNmcli, Network::kIp}) {
    EmitOptions options;
    options.node = "h0";
    options.network = network;
    const auto emission = emitted(lab, "host", options);
    const std::string text = file_of(emission, network == Network::kNetplan ? "h0/60-roce.yaml" : "h0/network.sh");
    EXPECT_FALSE(has(text, "route") || has(text, "rule")) << text;
    bool noted = false;
    for (const EmitNote& note : emission.notes) noted = noted || has(note.message, "no link leads there");
    EXPECT_TRUE(noted);
  }
}

TEST(EmitHost, NcclEnvironmentAndMpirun) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const auto emission = emitted(lab, "host");
  const std::string conf = file_of(emission, "h0/nccl.conf");
  EXPECT_TRUE(has(conf, "NCCL_SOCKET_IFNAME==eno1\nNCCL_IB_HCA==mlx5_0:1\n"));
  EXPECT_TRUE(has(conf, "NCCL_IB_TC=106\n"));
  EXPECT_TRUE(has(file_of(emission, "job/mpirun.sh"), "mpirun -np 8 -N 1 --hostfile hostfile "));
  EXPECT_EQ(count_of(file_of(emission, "job/hostfile"), "slots=1\n"), 8u);
}

// The hypervisor gave its NICs and GPUs away: it is no host of the job, and no GPU counts twice.
TEST(EmitHost, VirtualMachinesHaveWhatTheyWereGiven) {
  const auto lab = support::gear_lab_file("labs/two-vms-one-host.yaml");
  const auto emission = emitted(lab, "host");
  EXPECT_EQ(file_of(emission, "job/hostfile"), "vm00 slots=1\nvm01 slots=1\n");
  const std::string job = file_of(emission, "job/mpirun.sh");
  EXPECT_TRUE(has(job, "mpirun -np 2 -N 1 ")) << job;
  EXPECT_TRUE(has(job, "NCCL_IB_HCA='=mlx5_0:1'")) << job;
  for (const EmittedFile& file : emission.files) EXPECT_FALSE(file.path.starts_with("epyc/")) << file.path;
  EXPECT_FALSE(has(file_of(emission, "vm00/mlxconfig.sh"), "\nmlxfwreset"));
  EmitOptions options;
  options.node = "epyc";
  const auto refused = emit(lab, "host", options);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(has(refused.error().front().message, "no NIC of epyc has a port of its own"));
}

// It goes into scripts: nothing but a name of an interface does.
TEST(EmitHost, ManagementInterface) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  EmitOptions options;
  for (const char* wrong : {"e'x;id;'", "", "a b", "$(id)", "eno1\n", "..", "-x", "sixteen-letters-"}) {
    options.management = wrong;
    const auto emission = emit(lab, "host", options);
    ASSERT_FALSE(emission) << wrong;
    EXPECT_TRUE(has(emission.error().front().message, "is no name of an interface"));
  }
  options.management = "enp1s0f0np0.42";
  EXPECT_TRUE(has(file_of(emitted(lab, "host", options), "job/mpirun.sh"), "NCCL_SOCKET_IFNAME='=enp1s0f0np0.42'\n"));
}

// Each NIC is tried with the GPU that is nearest to it, not all with the first.
TEST(EmitHost, ChecksWithNearestGpu) {
  const auto lab = support::gear_lab(
      "version: 1\nname: gpus\nnodes:\n"
      "  a: {kind: host, host: dgx-h100, gpus: [{model: a100-80g, slot: gpu0}, {model: a100-80g, slot: gpu4}], nics: ["
      "{model: cx6-200g, slot: nic4, ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B}}},"
      "{model: cx6-200g, slot: nic0, ports: {p1: {address: 10.0.1.1/24, mtu: 4200 B}}}]}\n"
      "  b: {kind: host, gpus: [a100-80g, a100-80g], nics: ["
      "{model: cx6-200g, ports: {p0: {address: 10.0.0.2/24, mtu: 4200 B}}},"
      "{model: cx6-200g, ports: {p1: {address: 10.0.1.2/24, mtu: 4200 B}}}]}\n"
      "links:\n  - {endpoints: [\"a:p0\", \"b:p0\"], cable: {kind: dac, length: 2 m}}\n"
      "  - {endpoints: [\"a:p1\", \"b:p1\"], cable: {kind: dac, length: 2 m}}\n");
  ASSERT_EQ(lab.hosts.size(), 2u);
  const auto emission = emitted(lab, "host");
  EXPECT_TRUE(has(file_of(emission, "a/check.sh"), "ib_write_bw -d mlx5_0 --use_cuda=1 "));
  EXPECT_TRUE(has(file_of(emission, "a/check.sh"), "ib_write_bw -d mlx5_1 --use_cuda=0 "));
  // All as near: one each.
  EXPECT_TRUE(has(file_of(emission, "b/check.sh"), "ib_write_bw -d mlx5_0 --use_cuda=0 "));
  EXPECT_TRUE(has(file_of(emission, "b/check.sh"), "ib_write_bw -d mlx5_1 --use_cuda=1 "));
  // Rails: ports of one place; a host with several is named with the device.
  const std::string pairs = file_of(emission, "job/all-pairs.sh");
  EXPECT_TRUE(has(pairs, "\npair a.mlx5_0 a mlx5_0 b.mlx5_0 b mlx5_0 10.0.0.2\n")) << pairs;
  EXPECT_EQ(count_of(pairs, "\npair a.mlx5_0 "), 1u);
}

// MaxReadReq is 128 B shifted by bits 14:12; where the lab leaves the catalog's, nothing is written.
TEST(EmitHost, SetsReadRequestOfLab) {
  const auto lab = support::gear_lab_file("labs/host/read-request-size.yaml");
  const auto emission = emitted(lab, "host");
  EXPECT_TRUE(has(file_of(emission, "a256/roce-qos.sh"), "CAP_EXP+8.w=1000:7000\n"));
  EXPECT_TRUE(has(file_of(emission, "a1024/roce-qos.sh"), "CAP_EXP+8.w=3000:7000\n"));
  EXPECT_FALSE(has(file_of(emission, "a512/roce-qos.sh"), "setpci"));
}

TEST(EmitHost, AllPairsOfHostsThatReachEachOther) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const std::string pairs = file_of(emitted(lab, "host"), "job/all-pairs.sh");
  EXPECT_EQ(count_of(pairs, "\npair h"), 8u * 7u);
  EXPECT_TRUE(has(pairs, "weft doctor --pairs DIR --line-rate 100\n"));
  EmitOptions options;
  options.node = "h0";
  for (const EmittedFile& file : emitted(lab, "host", options).files) EXPECT_NE(file.path, "job/all-pairs.sh");
}

}  // namespace
}  // namespace weft::gear
