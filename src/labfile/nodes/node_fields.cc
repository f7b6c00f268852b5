// Rows of nodes: hosts, virtual machines, ports to the outside, switches, forwarders.
#include "catalog/catalog.h"
#include "catalog/model_fields.h"
#include "labfile/lab_fields.h"
#include "labfile/shapes.h"
#include "model/qos_fields.h"

namespace weft::lab {
namespace {

using fabric::ForwarderPort;
using fabric::QdiscConfig;
using fabric::QdiscKind;
using host::CpuUse;
using host::HostPlaces;

constexpr std::string_view kTexts = R"("type": "array", "items": {"type": "string"})";
constexpr std::string_view kSomeTexts = R"("type": "array", "minItems": 1, "items": {"type": "string"})";
constexpr std::string_view kNumbers = R"("type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 1023})";
constexpr std::string_view kGpuList =
    R"("type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/definitions/gpu"}]})";
constexpr std::string_view kMac = R"("type": "string", "pattern": "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$")";
constexpr std::string_view kAddress = R"("type": "string", "pattern": "^[0-9A-Fa-f:.]+/[0-9]{1,3}$")";

constexpr Value<void> kind_value(std::string_view shape, std::string_view form) {
  return shaped(shape, form);
}

constexpr Word<host::Iommu> kIommuWords[] = {
    {"off", host::Iommu::kOff}, {"passthrough", host::Iommu::kPassthrough}, {"on", host::Iommu::kOn}};

constexpr Field<CpuUse> kCpuFields[] = {
    {"cpus", cpu_list_value(), "all of the profile's",
     "the machine's CPUs that belong to this node; of a VM its vCPUs in order, each pinned to one"},
    {"isolated", cpu_list_value(), "none", "`isolcpus` of the machine: no stress thread runs there"},
    {"stress", number_at<&CpuUse::stress>({0, 4096}), "0",
     "threads that always want to run, as `stress-ng --cpu N` on the machine"},
    {"irq", cpu_list_value(), "a CPU that is free",
     "where interrupts of the NIC's queues go, by the machine's numbers; the same CPU as the program's is one core for "
     "both"},
};

constexpr Field<void> kLayoutFields[] = {
    {"numa", shaped(kSomeTexts, "list of lines"), "the profile's", "`cpus 0-7,32-39 memory 64 GB lanes 32`"},
    {"numa_links", shaped(kTexts, "list of lines"), "the profile's", "`0-1 170 Gbps 60 ns`"},
    {"slots", shaped(kTexts, "list of lines"), "the profile's", "`slot1 node0 4.0 x16`"},
};
constexpr Field<void> kGpuFields[] = {
    {"model", one_of(gpu_names, "GPU of the catalog"), "", "which it is", {.required = "model: h100-sxm"}},
    {"slot", value_of(FieldKind::kText), "none", "of the host's layout"},
};
constexpr Field<void> kNumactlFields[] = {
    {"cpunodebind", number_value({0, 1023}), "the NIC's", "NUMA node of the CPU that programs run on"},
    {"membind", number_value({0, 1023}), "the CPU's", "NUMA node of their memory"},
    {"physcpubind", number_value({0, 4095}), "", "the CPU itself, as the node numbers them"},
};
constexpr Field<void> kHugePageFields[] = {
    {"2M", number_value({0, 1 << 24}), "0", "how many of 2 MiB"},
    {"1G", number_value({0, 1 << 24}), "0", "how many of 1 GiB"},
};

constexpr Field<PortConfig> kPortFields[] = {
    {"address", shaped(kAddress, "`ADDRESS/PREFIX`"), "required",
     "IPv4 or IPv6 with prefix length: `10.0.0.1/24`, `fd00::1/64`. The second port of a bond (`lag` of its link) has "
     "none, no mtu and no vlan: `p1: {}`"},
    {"mtu",
     value_of(FieldKind::kBytes),
     "1500 B",
     "MTU of the network interface. Linux takes 96 B off and rounds down to a RoCE MTU: 1500 B give 1024 B, 4200 B and "
     "9000 B give 4096 B. The path has the smaller MTU of its two ends",
     {.live = Live::kMtu}},
    {"vlan", number_at<&PortConfig::vlan>({1, 4094}), "untagged", "802.1Q VLAN; the 802.1p priority is that of `qos`"},
};

constexpr Field<NicConfig> kNicFields[] = {
    {"model", one_of(nic_names, "NIC of the catalog"), "", "`weft catalog list`", {.required = "model: cx5-100g"}},
    {"slot", value_of(FieldKind::kText), "a root port of its own on node 0",
     "of the host's layout; without one it has its own generation and width"},
    {"set", section_value(kNicSetKeys), "",
     "values of the model that this lab changes: `set: {ack_interval: 16 packets, ack_timeout_mode: formula, "
     "end_to_end_credits: true}`. `weft catalog show cx5-100g` lists them with their sources"},
    {"ports", section_value(kPortKeys, Nesting::kByName), "required",
     "its ports, by names that are unique in the host; none where a virtual machine has the NIC"},
};

constexpr Field<HostConfig> kHostFields[] = {
    {"kind", kind_value(R"("const": "host")", "`host`"), "", "of the node", {.required = "kind: host"}},
    {"host", one_of(host_names, "profile of the catalog"), "`generic-x86`",
     "what posting and polling cost, PCIe and memory latency"},
    {"set", section_value(kHostSetKeys), "", "values of the profile that this lab changes: `set: {post_loop: 150 ns}`"},
    {"cpu", section_value(kCpuKeys), "", "which CPUs it has, and what else they do"},
    {"layout", section_value(kLayoutKeys), "the profile's", "NUMA nodes, links between them and PCIe slots"},
    {"gpus", shaped(kGpuList, "list"), "none",
     "GPUs of the catalog, numbered from 0 as `--use_cuda=N` counts them: `[rtx-3090]`, or with their slot "
     "`[{model: h100-sxm, slot: gpu0}]`"},
    {"gpu_fabric", shaped(R"("enum": ["nvswitch", "mesh", "pairs", "none"])", "`nvswitch`, `mesh`, `pairs` or `none`"),
     "the profile's, or what is usual for the GPUs",
     "how NVLink or Infinity Fabric joins them: `mesh` has the links of each shared among all others, `pairs` are "
     "bridges: 0 with 1, 2 with 3"},
    {"nics",
     section_value(kNicKeys, Nesting::kSome),
     "",
     "network cards",
     {.required = "nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24}}}]"}},
    {"numactl", section_value(kNumactlKeys), "on the NIC's node", "where programs run and their memory lies"},
    {"pages", choice_at<choice_words<kPageWords>, &HostConfig::places, &HostPlaces::page_B>(), "`4K`",
     "of registered memory; matters with `iommu: on`"},
    {"hugepages", section_value(kHugePageKeys), "none", "reserved for virtual machines: `{2M: 1024}`, `{1G: 64}`"},
    {"iommu", choice_at<choice_words<kIommuWords>, &HostConfig::places, &HostPlaces::iommu>(), "`passthrough`",
     "`on`: DMA to more pages than its cache holds waits for walks of the page tables"},
    {"gpudirect", flag_at<&HostConfig::places, &HostPlaces::gpudirect>(), "true",
     "false: no peer memory module is loaded. Flows of GPU memory are staged in host memory, perftest's `--use_cuda` "
     "ends with errno 14"},
    {"acs", flag_at<&HostConfig::places, &HostPlaces::acs>(), "false",
     "PCIe switches send what is for a peer up to the root complex"},
    {"qos", section_value(kQosKeys), "the lab's", "changes to the lab's `qos` for this host"},
};

constexpr Field<NicConfig> kVmNicFields[] = {
    {"of",
     value_of(FieldKind::kText),
     "",
     "a slot, a port or `nic0`, `nic1`, … of the host",
     {.required = "of: slot1"}},
    {"function", choice_value<choice_words<kFunctionWords>>(), "`vf`",
     "`pf`: all of the NIC is passed through: the host gives it no `ports`, and the cable goes to the guest's. `vf`: a "
     "virtual function, whose cable is that of the host's port"},
    {"max_tx_rate", quantity_value(Quantity::kBitRate), "none", "of a virtual function, as of `ip link set vf`"},
    {"ports", section_value(kPortKeys, Nesting::kByName), "required", "as of a host; one of a virtual function"},
};
constexpr Field<HostConfig> kVmFields[] = {
    {"kind", kind_value(R"("const": "vm")", "`vm`"), "", "of the node", {.required = "kind: vm"}},
    {"vm_of", value_of(FieldKind::kName), "", "the host that it runs on", {.required = "vm_of: host0"}},
    {"vcpus",
     cpu_list_value(),
     "",
     "CPUs of the host; vCPU 0 is pinned to the first of them, and so on (`virsh vcpupin`). The node numbers its CPUs "
     "from 0: `cpus` and `irq` count vCPUs",
     {.required = "vcpus: \"2-7,34-39\""}},
    {"emulator", cpu_list_value(), "not said",
     "CPUs of the emulator's threads (`virsh emulatorpin`); checked, and without effect: no device of the guest is "
     "emulated here"},
    {"share_cpus", value_of(FieldKind::kFlag), "false",
     "true: other guests have the same cores, on purpose; otherwise that is a warning"},
    {"memory", quantity_value(Quantity::kSize), "not said", "how much"},
    {"pages", choice_at<choice_words<kPageWords>, &HostConfig::places, &HostPlaces::page_B>(), "`4K`",
     "that back its memory; `2M` and `1G` come from the host's `hugepages`"},
    {"numatune", shaped(kNumbers, "list of NUMA nodes"), "any", "nodes of the host that its memory is on"},
    {"irq", cpu_list_value(), "a vCPU that is free", "vCPUs that interrupts of the NIC's queues go to"},
    {"gpus", shaped(kNumbers, "list of numbers"), "none", "the host's GPUs; the guest counts them from 0"},
    {"numactl", section_value(kNumactlKeys), "on the NIC's node",
     "as for a host: nodes are the host's, and a program is on the NIC's node where the guest has a vCPU there"},
    {"gpudirect", flag_at<&HostConfig::places, &HostPlaces::gpudirect>(), "as the host",
     "a peer memory module is loaded"},
    {"nics",
     section_value(kVmNicKeys, Nesting::kSome),
     "",
     "what it has of the host's",
     {.required = "nics: [{of: slot1, function: vf, ports: {p0: {address: 10.0.0.1/24}}}]"}},
    {"qos", section_value(kQosKeys), "the lab's", "as for a host"},
};

constexpr Field<void> kUdpFields[] = {
    {"listen", value_of(FieldKind::kText), "", "our end, IPv4", {.required = "listen: 127.0.0.1:7001"}},
    {"peer", value_of(FieldKind::kText), "", "their end", {.required = "peer: 127.0.0.1:7001"}},
};
constexpr Field<void> kOutsideFields[] = {
    {"kind", kind_value(R"("const": "outside")", "`outside`"), "", "of the node", {.required = "kind: outside"}},
    {"address",
     shaped(kAddress, "`ADDRESS/PREFIX`"),
     "",
     "of what is behind the port, one address",
     {.required = "address: 10.0.0.1/24"}},
    {"mtu", value_of(FieldKind::kBytes), "1500 B", "as for the port of a NIC"},
    {"vlan", number_value({1, 4094}), "untagged", "as for the port of a NIC"},
    {"udp", section_value(kUdpKeys), "one of the two", "an Ethernet frame per datagram, as in QEMU's `-netdev dgram`"},
    {"tap", value_of(FieldKind::kName), "one of the two", "a TAP interface, made if that is allowed"},
    {"mac", shaped(kMac, "six bytes"), "learned",
     "of what is behind the port. Without it frames go to a made-up address until the first frame has come in"},
    {"qos", section_value(kQosKeys), "the lab's", "as for a host"},
};

constexpr Field<void> kSwitchPortFields[] = {
    {"mtu", value_of(FieldKind::kBytes), "9216 B, or the most that the model takes", "of what leaves here"},
};
constexpr Field<void> kSwitchFields[] = {
    {"kind", kind_value(R"("const": "switch")", "`switch`"), "", "of the node", {.required = "kind: switch"}},
    {"model", one_of(switch_names, "switch of the catalog"), "", "`weft catalog list`", {.required = "model: sn3700c"}},
};
constexpr Field<void> kSwitchChangeFields[] = {
    {"set", section_value(kSwitchSetKeys), "", "values of the model that this lab changes: `set: {buffer: 16 MB}`"},
    {"ports", section_value(kSwitchPortKeys, Nesting::kByName), "",
     "every port of the model exists, by the model's prefix and a number from 1 (swp1); this sets values of some"},
    {"qos", section_value(kQosKeys), "the lab's", "changes to it for this switch"},
    {"routing", section_value(kRoutingKeys), "the lab's", "changes to it for this switch"},
    {"routes", section_value(kRouteKeys, Nesting::kList), "computed", "win over the shortest paths"},
};
constexpr Field<void> kFabricSwitchFields[] = {
    {"kind", kind_value(R"("const": "switch")", "`switch`"), "", "of the node, which is one already"},
};
constexpr Field<void> kFabricNodeFields[] = {
    {"set", section_value(kHostSetKeys), "", "values of the profile that this lab changes"},
    {"cpu", section_value(kCpuKeys), "", "which CPUs it has, and what else they do"},
    {"qos", section_value(kQosKeys), "the lab's", "changes to it for this host"},
};
constexpr const Section* kHostMaps[] = {&kGpuKeys};  // items of gpus
constexpr const Section* kSwitchParts[] = {&kSwitchChangeKeys};

constexpr Word<QdiscKind> kQdiscWords[] = {{"pfifo", QdiscKind::kPfifo}, {"red", QdiscKind::kRed}};
constexpr fields::Sizes kQdiscSizeRange{1, std::int64_t{1} << 32}, kQdiscPackets{1, 1 << 20};
constexpr Field<QdiscConfig> kQdiscFields[] = {
    {"kind",
     choice_at<choice_words<kQdiscWords>, &QdiscConfig::kind>(),
     "",
     "by tc's names",
     {.required = "kind: red, or kind: pfifo"}},
    {"limit",
     shaped(R"("anyOf": [{"$ref": "#/definitions/packets"}, {"$ref": "#/definitions/size"}])", "packets or size"),
     "",
     "packets of pfifo, bytes of red",
     {.required = "limit: 1000 packets"}},
    {"avpkt", quantity_at<&QdiscConfig::avpkt_B>(Quantity::kSize, kQdiscSizeRange), "required for red",
     "the average packet"},
    {"max", quantity_at<&QdiscConfig::max_B>(Quantity::kSize, kQdiscSizeRange), "required for red",
     "above it all packets are marked or dropped"},
    {"min", quantity_at<&QdiscConfig::min_B>(Quantity::kSize, kQdiscSizeRange), "a third of max", "below it none is"},
    {"burst", quantity_at<&QdiscConfig::burst>(Quantity::kPackets, kQdiscPackets), "(2 min + max) / (3 avpkt)",
     "that passes before the average follows"},
    {"bandwidth", quantity_at<&QdiscConfig::bandwidth_bps>(Quantity::kBitRate, {1000, 1'000'000'000'000}), "10 Mbps",
     "for the average of an idle queue"},
    {"probability", quantity_at<&QdiscConfig::probability_ppb>(Quantity::kProbability, {1, 1'000'000'000}), "2 %",
     "at max"},
    {"ecn", flag_at<&QdiscConfig::ecn>(), "false", "mark; otherwise it drops what it would mark"},
};
constexpr Field<ForwarderPort> kForwarderPortFields[] = {
    {"mtu", value_of(FieldKind::kBytes), "9216 B, or the most that the model takes", "of what leaves here"},
    {"rx_ring", number_value({1, UINT32_MAX}), "the model's", "descriptors (`ethtool -G`)"},
    {"qdisc", section_value(kQdiscKeys), "the node's", "on the way out"},
};
constexpr Field<void> kForwarderFields[] = {
    {"kind", kind_value(R"("const": "forwarder")", "`forwarder`"), "", "of the node", {.required = "kind: forwarder"}},
    {"model",
     one_of(forwarder_names, "forwarder of the catalog"),
     "",
     "`weft catalog list`",
     {.required = "model: linux-bridge-25g"}},
    {"set", section_value(kForwarderSetKeys), "", "values of the model that this lab changes"},
    {"qdisc", section_value(kQdiscKeys), "the model's `pfifo`", "of every port, on the way out"},
    {"ports", section_value(kForwarderPortKeys, Nesting::kByName), "", "values of some ports"},
    {"routing", section_value(kRoutingKeys), "the lab's", "as of a switch"},
    {"routes", section_value(kRouteKeys, Nesting::kList), "computed", "as of a switch"},
};

std::vector<std::string_view> catalog_names(CatalogKind kind) {
  return Catalog::built_in().names(kind);
}

}  // namespace

std::vector<std::string_view> nic_names() {
  return catalog_names(CatalogKind::kNic);
}
std::vector<std::string_view> host_names() {
  return catalog_names(CatalogKind::kHost);
}
std::vector<std::string_view> gpu_names() {
  return catalog_names(CatalogKind::kGpu);
}
std::vector<std::string_view> switch_names() {
  return catalog_names(CatalogKind::kSwitch);
}
std::vector<std::string_view> forwarder_names() {
  return catalog_names(CatalogKind::kForwarder);
}

constinit const SectionOf<HostConfig> kHostKeys =
    section_of<kHostFields>("host", "a host", {kHostMaps, Parts::kElsewhere});
constinit const SectionOf<void> kFabricNodeKeys =
    section_of<kFabricNodeFields>("fabric_node", "changes to a host that the fabric's template made");
constinit const SectionOf<void> kFabricSwitchKeys = section_of<kFabricSwitchFields>(
    "fabric_switch", "changes to a switch that the fabric's template made", kSwitchParts);
constinit const SectionOf<HostConfig> kVmKeys = section_of<kVmFields>("vm", "a virtual machine of another node");
constinit const SectionOf<NicConfig> kVmNicKeys = section_of<kVmNicFields>("vm_nic", "a NIC of a virtual machine");
constinit const SectionOf<void> kLayoutKeys = section_of<kLayoutFields>(
    "layout", "in place of the profile's: one line each for a NUMA node, a link between nodes, a PCIe slot");
constinit const SectionOf<void> kGpuKeys = section_of<kGpuFields>("gpu", "a GPU in a slot");
constinit const SectionOf<void> kNumactlKeys = section_of<kNumactlFields>("numactl", "as numactl calls them");
constinit const SectionOf<void> kHugePageKeys = section_of<kHugePageFields>("hugepages", "reserved huge pages by size");
constinit const SectionOf<CpuUse> kCpuKeys = section_of<kCpuFields>("cpu", "CPUs of a host and what else they do");
constinit const SectionOf<void> kOutsideKeys =
    section_of<kOutsideFields>("outside", "a port to the outside (docs/live.md); needs weft up --clock wall");
constinit const SectionOf<void> kUdpKeys = section_of<kUdpFields>("udp", "frames in datagrams");
constinit const SectionOf<NicConfig> kNicKeys = section_of<kNicFields>("nic", "a network card");
constinit const SectionOf<PortConfig> kPortKeys = section_of<kPortFields>(
    "port", "a port of a NIC", {}, R"("dependencies": {"mtu": ["address"], "vlan": ["address"]})");
constinit const SectionOf<void> kSwitchKeys = section_of<kSwitchFields>("switch", "a switch", kSwitchParts);
constinit const SectionOf<void> kSwitchChangeKeys = section_of<kSwitchChangeFields>("switch_values", "");
constinit const SectionOf<void> kSwitchPortKeys = section_of<kSwitchPortFields>("switch_port", "a port of a switch");
constinit const SectionOf<void> kForwarderKeys =
    section_of<kForwarderFields>("forwarder", "a Linux bridge, or any box that forwards by a CPU");
constinit const SectionOf<ForwarderPort> kForwarderPortKeys =
    section_of<kForwarderPortFields>("forwarder_port", "a port of a forwarder");
constinit const SectionOf<QdiscConfig> kQdiscKeys =
    section_of<kQdiscFields>("qdisc", "a queueing discipline, by tc's names");

}  // namespace weft::lab
