// Virtual machines: what they have of their host, and every mistake at its line.
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kVmLab = R"(version: 1
name: vms
nodes:
  box:
    kind: host
    host: epyc-7551p
    hugepages: {1G: 64}
    gpus: [{model: rtx-3090, slot: slot2}, {model: rtx-3090, slot: slot4}]
    nics:
      - {model: cx4-lx-25g, slot: slot3}
      - {model: cx4-lx-25g, slot: slot1, ports: {p1: {address: 10.0.1.1/24, mtu: 4200 B}}}
  peer:
    kind: host
    nics: [{model: cx4-lx-25g, ports: {p0: {address: 10.0.0.2/24}, p1: {address: 10.0.1.2/24, mtu: 4200 B}}}]
  vm0:
    kind: vm
    vm_of: box
    vcpus: "2-7,34-39,16-23"
    memory: 32 GiB
    pages: 1G
    numatune: [0, 2]
    irq: "12"
    gpus: [1]
    nics:
      - {of: slot3, function: pf, ports: {p0: {address: 10.0.0.1/24}}}
  vm1:
    kind: vm
    vm_of: box
    vcpus: "24-29"
    memory: 32 GiB
    pages: 1G
    nics:
      - {of: p1, function: vf, max_tx_rate: 10 Gbps, ports: {v0: {address: 10.0.1.11/24, mtu: 4200 B}}}
links:
  - endpoints: ["vm0:p0", "peer:p0"]
  - endpoints: ["box:p1", "peer:p1"]
workloads:
  - {name: a, perftest: write_lat, client: vm0, server: peer}
  - {name: b, perftest: write_bw, client: vm1, server: box}
)";

std::string vm_lab(std::string_view old_text, std::string_view new_text) {
  std::string text(kVmLab);
  const std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << "the lab has no " << old_text;
  return at == std::string::npos ? text : text.replace(at, old_text.size(), new_text);
}
std::vector<std::string> warnings_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const Problem& p : read_good(text).warnings)
    lines.push_back(fmt::format("{}:{} {}", p.line, p.column, p.message));
  return lines;
}

TEST(LabVms, HavePartsOfTheirHost) {
  const Lab lab = read_good(kVmLab);
  ASSERT_EQ(lab.hosts.size(), 4U);
  const HostConfig &box = lab.hosts[0], &vm0 = lab.hosts[2], &vm1 = lab.hosts[3];
  EXPECT_FALSE(box.vm);
  EXPECT_EQ(vm0.name, "vm0");
  EXPECT_EQ(vm0.vm->host, 0U);
  EXPECT_EQ(vm0.cpu.own.size(), 20U);
  EXPECT_EQ(vm0.cpu.irq, std::vector<std::uint32_t>{16}) << "vCPU 12";
  EXPECT_TRUE(vm0.model.virtual_machine);
  EXPECT_EQ(vm0.places.placement.iommu, host::Iommu::kOn);
  EXPECT_EQ(vm0.places.placement.page_B, std::int64_t{1} << 30);
  EXPECT_EQ(vm0.places.passed_gpus, std::vector<std::uint32_t>{1});
  EXPECT_EQ(vm0.nics[0].slot, box.nics[0].slot);
  EXPECT_FALSE(vm0.nics[0].function->is_vf());
  EXPECT_TRUE(is_vf(lab, {3, 0, 0}));
  EXPECT_EQ(carrier_of(lab, {3, 0, 0}), (PortRef{0, 1, 0}));
  EXPECT_EQ(vm1.nics[0].function->number, 1U);
  EXPECT_EQ(vm1.nics[0].function->max_tx_rate_bps, 10'000'000'000);
  EXPECT_EQ(machine_of(lab, 3), 0U);
  EXPECT_EQ(lab.workloads[1].client, (PortRef{3, 0, 0}));
  EXPECT_EQ(lab.workloads[1].server, (PortRef{0, 1, 0}));
  EXPECT_TRUE(lab.warnings.empty());
}

TEST(LabVms, CpuOfProgramIsOneIdea) {
  const auto placement = [](std::string_view key) {
    return *read_good(vm_lab("client: vm0, server: peer}", "client: vm0, server: peer, " + std::string(key) + "}"))
                .workloads[0]
                .client_placement;
  };
  for (const char* key : {"cpus: [12, 0]", "client_numactl: {physcpubind: 12}"}) {
    EXPECT_EQ(placement(key).cpu, 12U) << key;
    EXPECT_EQ(placement(key).cpu_node, 2U) << key << ": CPU 16 of the host";
    EXPECT_EQ(placement(key).iommu, host::Iommu::kOn) << key;
  }
  const Lab tcp = read_good(vm_lab("perftest: write_lat", "iperf3: \"-A 12,0\""));
  EXPECT_EQ(tcp.workloads[0].client_placement->cpu, 12U);
  EXPECT_EQ(tcp.workloads[0].client_placement->cpu_node, 2U);
}

TEST(LabVms, LoadOfWorkload) {
  const auto with_load = [](std::string_view load) {
    return vm_lab("client: vm0, server: peer}", "client: vm0, server: peer, " + std::string(load) + "}");
  };
  const Lab lab = read_good(with_load("cpu: {stress: 64, isolated: \"2-29\"}"));
  EXPECT_EQ(lab.workloads[0].stress, 64U);
  EXPECT_EQ(lab.workloads[0].isolated->size(), 28U);
  EXPECT_EQ(read_good(with_load("cpu: {isolated: \"\"}")).workloads[0].isolated->size(), 0U);
  EXPECT_FALSE(read_good(kVmLab).workloads[0].stress);
  expect_problem(with_load("cpu: {isolated: \"0-64\"}"), "38:79 isolated: epyc-7551p has no CPU 64 | ");
  expect_problem(with_load("start: 1 ms, cpu: {stress: 4}"), "38:81 cpu of a workload with start: ");
  expect_problem(with_load("cpu: {cpus: \"1\"}"), "38:69 cpu of a has no key \"cpus\" | ");
}

TEST(LabVms, MistakesAtTheirLine) {
  expect_problem(vm_lab("vm_of: box", "vm_of: bax"), "17:12 there is no node \"bax\" | ");
  expect_problem(vm_lab("vm_of: box\n    vcpus: \"24-29\"", "vm_of: vm0\n    vcpus: \"24-29\""),
                 "28:12 vm0 is no host that runs virtual machines | name a node of kind: host");
  expect_problem(vm_lab("vm_of: box", "vm_of: vm0"),
                 "17:12 vm0 is no host that runs virtual machines | name a node of kind: host");
  expect_problem(vm_lab("\"2-7,34-39,16-23\"", "\"\""), "18:12 vcpus names no CPU | ");
  expect_problem(vm_lab("2-7,34-39,16-23", "2-7,34-39,16-64"),
                 "18:12 vcpus: epyc-7551p has no CPU 64 | it has CPUs 0 to 63");
  expect_problem(vm_lab("of: p1", "of: p9"), "33:14 box has no NIC \"p9\" | ");
  expect_problem(
      vm_lab("of: slot3, function: pf", "of: slot1, function: pf"),
      "25:14 slot1 of box is used by the host itself | leave its ports out at the host, or write function: vf");
  expect_problem(vm_lab("of: slot3, function: pf", "of: slot3, function: vf"), "25:14 slot3 of box has no ports | ");
  expect_problem(vm_lab("function: pf, ports", "function: pf, max_tx_rate: 1 Gbps, ports"),
                 "25:48 max_tx_rate limits a virtual function | ");
  expect_problem(vm_lab("irq: \"12\"", "irq: \"20\""), "22:10 irq: vm0 has no CPU 20 | ");
  expect_problem(vm_lab("gpus: [1]", "gpus: [2]"), "23:12 box has no GPU 2 | it has 2, numbered from 0");
  expect_problem(vm_lab("numatune: [0, 2]", "numatune: [0, 4]"), "21:19 box has no NUMA node 4 | it has nodes 0 to 3");
  expect_problem(vm_lab("\"box:p1\", \"peer:p1\"", "\"vm1:v0\", \"peer:p1\""),
                 "36:17 \"vm1:v0\" is a virtual function and has no cable of its own | plug it into box:p1");
  expect_problem(vm_lab("10.0.1.11/24, mtu: 4200 B", "10.0.1.1/24, mtu: 4200 B"),
                 "33:62 box:p1 has the address 10.0.1.1 too | ");
  expect_problem(vm_lab("10.0.1.11/24, mtu: 4200 B", "10.0.1.11/24, mtu: 9000 B"),
                 "33:62 mtu 9000 B, and box:p1 has 4200 B | ");
}

TEST(LabVms, MemoryOfHost) {
  expect_problem(vm_lab("{1G: 64}", "{1G: 400}"), "7:16 400 GiB in huge pages: box has ");
  expect_problem(vm_lab("{1G: 64}", "{1G: 40}"),
                 "26:3 huge pages for 64 GiB up to here, and box has reserved 40 GiB of that size | ");
  expect_problem(vm_lab("memory: 32 GiB\n    pages: 1G\n    numatune: [0, 2]", "memory: 150 GiB\n    numatune: [0, 2]"),
                 "19:13 150 GiB of memory: NUMA nodes 0, 2 of box have 119.2 GiB | ");
  expect_problem(vm_lab("memory: 32 GiB\n    pages: 1G\n    nics", "memory: 1024 GiB\n    nics"),
                 "30:13 1024 GiB of memory: all NUMA nodes of box have 238.4 GiB | ");
}

TEST(LabVms, VirtualFunctionHasNoCable) {
  expect_problem(std::string(kVmLab) + "faults:\n  - {name: x, link: \"vm1:v0\", action: drop, probability: 1 %}\n",
                 "41:21 \"vm1:v0\" is a virtual function and has no cable of its own | name box:p1");
  expect_problem(std::string(kVmLab) + "expect:\n  \"vm1:v0.out_of_sequence\": {equal: 0}\n",
                 "41:3 vm1:v0 is a virtual function and has no counters of its own | those of box:p1 have");
}

TEST(LabVms, CoresOfTwoGuests) {
  const std::string same = vm_lab("vcpus: \"24-29\"", "vcpus: \"16-17\"");
  EXPECT_EQ(warnings_of(same), std::vector<std::string>{"29:12 CPU 16 is on a core of vm0 too"});
  EXPECT_EQ(warnings_of(vm_lab("vcpus: \"24-29\"", "vcpus: \"48-49\"")),
            std::vector<std::string>{"29:12 CPU 48 is on a core of vm0 too"})
      << "the sibling of CPU 16";
  EXPECT_TRUE(warnings_of(vm_lab("vcpus: \"24-29\"", "vcpus: \"16-17\"\n    share_cpus: true")).empty());
}

TEST(LabVms, UnusedNic) {
  std::string text = vm_lab("      - {of: slot3, function: pf, ports: {p0: {address: 10.0.0.1/24}}}\n",
                            "      - {of: p1, ports: {p0: {address: 10.0.1.12/24}}}\n");
  text.erase(text.find("  - endpoints: [\"vm0:p0\""), std::string("  - endpoints: [\"vm0:p0\", \"peer:p0\"]\n").size());
  expect_problem(text, "4:3 slot3 of box has no ports | ");
}

}  // namespace
}  // namespace weft::lab
