// The machine of "Building a Multi-Node RDMA Lab on a Single Machine" ([mcornea-lab]) gives that article's
// tables.
#include <gtest/gtest.h>

#include <string>

#include "gear/vm/plan.h"

namespace weft::gear {
namespace {

const std::string kSeedHost = std::string(WEFT_SOURCE_DIR) + "/labs/hosts/epyc-7551p.txt";

VmPlanOptions seed_options() {
  VmPlanOptions options;
  options.vms = {{"vm00", {"gpu0", "nic0"}}, {"vm01", {"gpu1", "nic1"}}};
  return options;
}

VmPlan seed_plan(const VmPlanOptions& options = seed_options()) {
  auto host = read_host(kSeedHost);
  EXPECT_TRUE(host) << host.error().message;
  auto plan = plan_vms(std::move(*host), options);
  EXPECT_TRUE(plan) << plan.error().message;
  return std::move(*plan);
}

bool plan_has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(VmPlan, SeedDeviceLocality) {
  EXPECT_TRUE(plan_has(vm_plan_text(seed_plan()),
                       "| Device | PCI address | NUMA node | Assigned to |\n|---|---|---|---|\n"
                       "| GPU 0 (GeForce RTX 3090) | 06:00.0 | 0 | vm00 |\n"
                       "| GPU 1 (GeForce RTX 3090) | 21:00.0 | 1 | vm01 |\n"
                       "| NIC 0 (ConnectX-4 Lx) | 41:00.0 (enp65s0f0np0) | 2 | vm00 |\n"
                       "| NIC 1 (ConnectX-4 Lx) | 61:00.0 (enp97s0f0np0) | 3 | vm01 |\n\n"))
      << vm_plan_text(seed_plan());
}

TEST(VmPlan, SeedCpuTable) {
  EXPECT_TRUE(plan_has(vm_plan_text(seed_plan()),
                       "| NUMA node | CPUs | Assignment |\n|---|---|---|\n"
                       "| Node 0 | 0-1,32-33 | Host (2 cores) |\n"
                       "|  | 2-7,34-39 | vm00 GPU 0 (6 cores) |\n"
                       "| Node 1 | 8-15,40-47 | vm01 GPU 1 (8 cores) |\n"
                       "| Node 2 | 16-23,48-55 | vm00 NIC 0 (8 cores) |\n"
                       "| Node 3 | 24-29,56-61 | vm01 NIC 1 (6 cores) |\n"
                       "|  | 30-31,62-63 | Host (2 cores) |\n"))
      << vm_plan_text(seed_plan());
}

TEST(VmPlan, SeedKernelArguments) {
  EXPECT_EQ(
      kernel_arguments(seed_plan()),
      "iommu=pt isolcpus=2-29,34-61 nohz_full=2-29,34-61 rcu_nocbs=2-29,34-61 default_hugepagesz=1G hugepagesz=1G "
      "hugepages=64");
}

TEST(VmPlan, SeedPinning) {
  const VmPlan plan = seed_plan();
  EXPECT_EQ(plan.vms[0].vcpus(), (CpuList{2,  3,  4,  5,  6,  7,  34, 35, 36, 37, 38, 39, 16, 17,
                                          18, 19, 20, 21, 22, 23, 48, 49, 50, 51, 52, 53, 54, 55}));
  EXPECT_EQ(plan.vms[1].vcpus(), (CpuList{8,  9,  10, 11, 12, 13, 14, 15, 40, 41, 42, 43, 44, 45,
                                          46, 47, 24, 25, 26, 27, 28, 29, 56, 57, 58, 59, 60, 61}));
  EXPECT_EQ(plan.vms[0].cores(), 14u);
  const std::string xml = domain_xml(plan, plan.vms[0]);
  EXPECT_TRUE(plan_has(xml, "<emulatorpin cpuset='2-7,16-23,34-39,48-55'/>"));
  EXPECT_TRUE(plan_has(xml, "<memory mode='strict' nodeset='0,2'/>"));
  EXPECT_TRUE(plan_has(xml, "<vcpupin vcpu='12' cpuset='16'/>"));
  EXPECT_TRUE(plan_has(domain_xml(plan, plan.vms[1]), "<emulatorpin cpuset='8-15,24-29,40-47,56-61'/>"));
  EXPECT_TRUE(plan_has(domain_xml(plan, plan.vms[1]), "<memory mode='strict' nodeset='1,3'/>"));
}

TEST(VmPlan, SeedVirtInstall) {
  const VmPlan plan = seed_plan();
  EXPECT_EQ(virt_install_command(plan, plan.vms[1]),
            "virt-install \\\n  --name vm01 \\\n  --ram 32768 \\\n  --vcpus 28 \\\n  --memorybacking hugepages=yes \\\n"
            "  --disk path=/var/lib/libvirt/images/vm01.qcow2 \\\n  --os-variant centos-stream9 \\\n"
            "  --network network=default \\\n  --host-device 0000:21:00.0 \\\n  --host-device 0000:21:00.1 \\\n"
            "  --host-device 0000:61:00.0 \\\n  --import \\\n  --noautoconsole\n");
}

// The guest's NUMA cells, its memory and the place of its devices agree with the host's.
TEST(VmPlan, GuestSeesLocality) {
  const VmPlan plan = seed_plan();
  const std::string xml = domain_xml(plan, plan.vms[0]);
  EXPECT_TRUE(plan_has(xml, "<cell id='0' cpus='0-11' memory='16384' unit='MiB'/>"));
  EXPECT_TRUE(plan_has(xml, "<cell id='1' cpus='12-27' memory='16384' unit='MiB'/>"));
  EXPECT_TRUE(plan_has(xml, "<memnode cellid='1' mode='strict' nodeset='2'/>"));
  EXPECT_TRUE(plan_has(xml, "<topology sockets='1' dies='1' cores='28' threads='1'/>"));
  EXPECT_TRUE(
      plan_has(xml, "<address type='pci' domain='0x0000' bus='0x02' slot='0x00' function='0x0' multifunction='on'/>"));
  EXPECT_TRUE(plan_has(xml, "<address type='pci' domain='0x0000' bus='0x02' slot='0x00' function='0x1'/>"));
}

TEST(VmPlan, GuestSmtKeepsSiblingsTogether) {
  VmPlanOptions options = seed_options();
  options.guest_smt = true;
  options.emulator = EmulatorCpus::kHost;
  const VmPlan plan = seed_plan(options);
  const CpuList vcpus = plan.vms[0].vcpus();
  EXPECT_EQ((CpuList{vcpus.begin(), vcpus.begin() + 4}), (CpuList{2, 34, 3, 35}));
  const std::string xml = domain_xml(plan, plan.vms[0]);
  EXPECT_TRUE(plan_has(xml, "cores='14' threads='2'/>"));
  EXPECT_TRUE(plan_has(xml, "topoext"));
  EXPECT_TRUE(plan_has(xml, "<emulatorpin cpuset='0-1,30-33,62-63'/>"));
}

TEST(VmPlan, NotesGpuAndNicApart) {
  const VmPlan plan = seed_plan();
  ASSERT_EQ(plan.notes.size(), 2u);
  EXPECT_TRUE(plan_has(plan.notes[0], "vm00: GPU and NIC are on NUMA nodes 0 and 2"));
}

// Two VMs on one node share its cores; pages are asked for on the nodes that need them.
TEST(VmPlan, SharesNode) {
  VmPlanOptions options;
  options.vms = {{"a", {"41:00.0"}}, {"b", {"enp65s0f1np1"}}};
  options.memory_B = std::int64_t{8} << 30;
  const VmPlan plan = seed_plan(options);
  EXPECT_EQ(cpus_text(plan.vms[0].vcpus()), "16-19,48-51");
  EXPECT_EQ(cpus_text(plan.vms[1].vcpus()), "20-23,52-55");
  EXPECT_EQ(cpus_text(plan.host_cpus), "0-15,24-47,56-63");
  EXPECT_TRUE(plan_has(kernel_arguments(plan), "hugepages=2:16"));
}

TEST(VmPlan, BindsWholeIommuGroup) {
  auto host = read_host(kSeedHost);
  ASSERT_TRUE(host);
  for (HostDevice& device : host->devices) {
    if (device.address.bus == 0x41) device.iommu_group = 17;
  }
  const auto plan = plan_vms(std::move(*host), seed_options());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->bound.size(), 7u);  // two GPUs of two functions, two NICs, and 41:00.1
  EXPECT_TRUE(plan_has(plan->notes[0], "0000:41:00.1 is in IOMMU group 17"));
}

TEST(VmPlan, JsonOfNamesThatAreNotUtf8) {
  auto host = read_host(kSeedHost);
  ASSERT_TRUE(host);
  host->cpu = "\xac";
  const auto plan = plan_vms(std::move(*host), seed_options());
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan_has(vm_plan_json(*plan), "\"cpu\": \"\xef\xbf\xbd\""));
}

TEST(VmPlan, RefusesWhatCannotBe) {
  const struct {
    VmPlanOptions options;
    const char* message;
  } cases[] = {
      {{.vms = {}}, "no virtual machine"},
      {{.vms = {{"a", {"gpu9"}}}}, "a: no device gpu9"},
      {{.vms = {{"a", {"gpu0"}}, {"a", {"gpu1"}}}}, "two virtual machines are called a"},
      {{.vms = {{"a", {"gpu0"}}, {"b", {"06:00.0"}}}}, "0000:06:00.0 is already in a virtual machine"},
      {{.vms = {{"a", {"07:00.0"}}}}, "no device at 0000:07:00.0"},
      {{.vms = {{"a", {"gpu0"}}}, .memory_B = std::int64_t{64} << 30}, "NUMA node 0 has 64.0 GiB"},
      {{.vms = {{"a", {"gpu0"}}}, .host_cores = 8}, "NUMA node 0 has 8 cores"},
      {{.vms = {{"a", {"gpu0"}}}, .host_cores = 0}, "the host needs a core"},
      {{.vms = {{"a", {"gpu0", "nic0"}}}, .memory_B = std::int64_t{1} << 30}, "devices on 2 NUMA nodes and 1 pages"},
  };
  for (const auto& each : cases) {
    auto host = read_host(kSeedHost);
    ASSERT_TRUE(host);
    const auto plan = plan_vms(std::move(*host), each.options);
    ASSERT_FALSE(plan) << each.message;
    EXPECT_TRUE(plan_has(plan.error().message, each.message)) << plan.error().message;
  }
  for (const char* text : {"vm00", "=gpu0", "a b=gpu0", "vm00=gpu0,,nic0", "-x=gpu0", "../x=gpu0"})
    EXPECT_FALSE(parse_vm_request(text)) << text;
  EXPECT_EQ(parse_vm_request("vm00=gpu0, nic0")->devices, (std::vector<std::string>{"gpu0", "nic0"}));
}

}  // namespace
}  // namespace weft::gear
