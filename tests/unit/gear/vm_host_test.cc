#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "gear/vm/host.h"

namespace weft::gear {
namespace {

namespace fs = std::filesystem;

std::string seed_host_text() {
  std::ifstream in(std::string(WEFT_SOURCE_DIR) + "/labs/hosts/epyc-7551p.txt");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// What lstopo --of xml writes of a machine with two nodes; shortened.
const char* const kLstopo = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" nodeset="0x00000003">
    <object type="Package" os_index="0" cpuset="0x00000005" nodeset="0x00000001">
      <info name="CPUVendor" value="GenuineIntel"/>
      <info name="CPUModel" value="Xeon &amp; more"/>
      <object type="NUMANode" os_index="0" cpuset="0x00000005" nodeset="0x00000001" local_memory="34359738368"/>
      <object type="Core" os_index="0" cpuset="0x00000005" nodeset="0x00000001">
        <object type="PU" os_index="0"/><object type="PU" os_index="2"/>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000a" nodeset="0x00000002">
      <object type="NUMANode" os_index="1" cpuset="0x0000000a" nodeset="0x00000002" local_memory="34359738368"/>
      <object type="Core" os_index="1" cpuset="0x0000000a" nodeset="0x00000002">
        <object type="PU" os_index="1"/><object type="PU" os_index="3"/>
      </object>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[80-81]">
        <object type="PCIDev" pci_busid="0000:81:00.0" pci_type="0200 [15b3:1017] [15b3:0008] 00" pci_link_speed="15.75">
          <info name="PCIDevice" value="MT27800 Family [ConnectX-5]"/>
          <object type="OSDev" name="ens1f0" osdev_type="2"/>
          <object type="OSDev" name="mlx5_0" osdev_type="3"/>
        </object>
      </object>
    </object>
  </object>
</topology>
)";

TEST(VmHost, ReadsLstopo) {
  const auto host = read_host_lstopo(kLstopo, "a.xml");
  ASSERT_TRUE(host) << host.error().message;
  ASSERT_EQ(host->nodes.size(), 2u);
  EXPECT_EQ(host->nodes[1].cores[0].threads, (CpuList{1, 3}));
  EXPECT_EQ(host->nodes[0].memory_B, std::int64_t{32} << 30);
  EXPECT_EQ(host->cpu, "Xeon & more");
  ASSERT_EQ(host->devices.size(), 1u);
  EXPECT_EQ(host->devices[0].numa_node, 1);
  EXPECT_EQ(host->devices[0].interface, "ens1f0");
  EXPECT_EQ(device_label(*host, host->devices[0]), "NIC 0");
}

TEST(VmHost, ReadsTree) {
  std::string pattern = (fs::temp_directory_path() / "weft-tree-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path root(pattern);
  const auto put = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  };
  put("sys/devices/system/node/node0/cpulist", "0-3");
  put("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       65842336 kB");
  for (int cpu = 0; cpu < 4; ++cpu)
    put("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
        cpu % 2 == 0 ? "0,2" : "1,3");
  const std::string device = "sys/bus/pci/devices/0000:01:00.0/";
  put(device + "class", "0x020000");
  put(device + "vendor", "0x15b3");
  put(device + "device", "0x1015");
  put(device + "numa_node", "-1");
  put(device + "net/enp1s0f0np0/mtu", "1500");
  fs::create_directory_symlink("../../../../kernel/iommu_groups/12", root / (device + "iommu_group"));
  fs::create_directory_symlink("../../../bus/pci/drivers/mlx5_core", root / (device + "driver"));
  put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC");
  const auto host = read_host(root.string());
  fs::remove_all(root);
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_EQ(host->cpu_vendor, "AuthenticAMD");
  ASSERT_EQ(host->nodes.size(), 1u);
  EXPECT_EQ(host->nodes[0].cores.size(), 2u);
  EXPECT_EQ(host->nodes[0].memory_B, std::int64_t{65842336} << 10);
  ASSERT_EQ(host->devices.size(), 1u);
  EXPECT_EQ(host->devices[0].numa_node, 0);  // the only node
  EXPECT_EQ(host->devices[0].driver, "mlx5_core");
  EXPECT_EQ(host->devices[0].iommu_group, 12u);
  EXPECT_EQ(host->devices[0].interface, "enp1s0f0np0");
}

// Of a bundle only the sections that describe the host are read.
TEST(VmHost, ReadsBundleSections) {
  const std::string bundle =
      "# weft bundle 1\n# host: a\n=== dmidecode\nSlot: nonsense\n=== lscpu\nThread(s) per core: 1\n"
      "NUMA node0 CPU(s): 0-1\n=== lspci -vmmnnk\nSlot:\t01:00.0\nClass:\tEthernet [0200]\n"
      "Vendor:\tX [15b3]\nDevice:\tY [1015]\n=== end\n";
  const auto host = describe_bundle(bundle, "bundle");
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_EQ(host->devices.size(), 1u);
}

// As weft inspect collects it: lspci without numbers, /sys as lines of files.
const char* const kInspected = R"(# weft bundle 1
# host: a
=== ethtool -i enp65s0f0np0
driver: mlx5_core
bus-info: 0000:41:00.0
=== lspci -D -vv
0000:06:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1) (prog-if 00 [VGA controller])
\tSubsystem: ASUSTeK Computer Inc. GA102 [GeForce RTX 3090]
\tNUMA node: 0
\tIOMMU group: 12
\tKernel driver in use: nvidia

0000:06:00.1 Audio device: NVIDIA Corporation GA102 High Definition Audio Controller (rev a1)
\tIOMMU group: 12

0000:41:00.0 Ethernet controller: Mellanox Technologies MT27710 Family [ConnectX-4 Lx]
\tKernel driver in use: mlx5_core
=== files
/sys/bus/pci/devices/0000:41:00.0/numa_node:1
/sys/devices/system/cpu/cpu0/topology/thread_siblings_list:0,2
/sys/devices/system/cpu/cpu1/topology/thread_siblings_list:1,3
/sys/devices/system/cpu/cpu2/topology/thread_siblings_list:0,2
/sys/devices/system/cpu/cpu3/topology/thread_siblings_list:1,3
/sys/devices/system/node/node0/cpulist:0,2
/sys/devices/system/node/node1/cpulist:1,3
=== end
)";

std::string inspected() {
  std::string text = kInspected;
  for (std::size_t at = text.find("\\t"); at != text.npos; at = text.find("\\t")) text.replace(at, 2, "\t");
  return text;
}

TEST(VmHost, ReadsInspectBundle) {
  const auto host = describe_bundle(inspected(), "bundle");
  ASSERT_TRUE(host) << host.error().message;
  ASSERT_EQ(host->devices.size(), 3u);
  EXPECT_EQ(host->devices[0].iommu_group, 12u);
  EXPECT_EQ(host->devices[0].name, "NVIDIA Corporation GA102 [GeForce RTX 3090]");
  EXPECT_EQ(host->devices[1].numa_node, 0);  // of its card
  EXPECT_EQ(host->devices[2].numa_node, 1);
  EXPECT_EQ(host->devices[2].interface, "enp65s0f0np0");
  EXPECT_EQ(device_label(*host, host->devices[2]), "NIC 0");
  EXPECT_EQ(device_label(*host, host->devices[0]), "GPU 0");
  ASSERT_EQ(host->nodes.size(), 2u);
  EXPECT_EQ(host->nodes[1].cores[0].threads, (CpuList{1, 3}));
  const std::string text = inspected();
  EXPECT_NE(describe_bundle(text.substr(0, text.size() - 9), "b").error().message.find("cut short"), std::string::npos);
}

TEST(VmHost, NamesPlaceOfMistakes) {
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"", "host.txt: no NUMA nodes"},
      {"NUMA node0 CPU(s): 0-3\n\nSlot: zz\n", "host.txt:3: Slot: zz is no PCI address"},
      {"Slot: 01:00.0\nClass: Ethernet\n", "host.txt:2: Class: Ethernet has no number in brackets"},
      {"Slot: 01:00.0\nNUMANode: x\n", "host.txt:2: NUMANode: x is no number"},
      {"NUMA node0 CPU(s): 3-1\n", "host.txt:1: NUMA node0 CPU(s): 3-1 is no list of CPUs"},
      {"NUMA node0 CPU(s): 0-9999999\n", "is no list of CPUs"},
      {"Thread(s) per core: 2\nNUMA node0 CPU(s): 0-2\n", "3 CPUs of NUMA node 0 are not 2 threads a core"},
      {"NUMA node0 CPU(s): 0-1\nNUMA node1 CPU(s): 1-2\n", "CPU 1 is in two places"},
      {"NUMA node0 CPU(s): 0-1\n\nSlot: 01:00.0\nNUMANode: 7\n", "is on NUMA node 7"},
      {"NUMA node0 CPU(s): 0-1\n\nSlot: 01:00.0\n\nSlot: 01:00.0\n", "0000:01:00.0 is there twice"},
  };
  for (const auto& each : cases) {
    const auto host = read_host_text(each.text, "host.txt");
    ASSERT_FALSE(host) << each.message;
    EXPECT_NE(host.error().message.find(each.message), std::string::npos) << host.error().message;
  }
  EXPECT_FALSE(read_host_lstopo("<topology><object type=\"Core\"/></topology>", "a.xml"));
  EXPECT_FALSE(read_host_lstopo("<x/>", "a.xml"));
  EXPECT_FALSE(read_host("/nonexistent"));
}

// Bytes that were changed at random are a description or an error, never a crash.
TEST(VmHost, SurvivesDamagedText) {
  std::mt19937 random(1);
  for (const std::string& good : {seed_host_text(), std::string(kLstopo), inspected()}) {
    for (int round = 0; round < 300; ++round) {
      std::string text = good;
      for (int i = 0; i < 8; ++i) {
        const std::size_t at = random() % text.size();
        text[at] = static_cast<char>(random() % 256);
      }
      text.resize(text.size() - random() % 100);
      (void)read_host_text(text, "x");
      (void)read_host_lstopo(text, "x");
      (void)describe_bundle(text, "x");
    }
  }
}

TEST(VmHost, NamesArePrintable) {
  const auto host = read_host_text("NUMA node0 CPU(s): 0\nModel name: a\x1b[2Jb\n", "x");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->cpu, "a?[2Jb");
}

TEST(VmHost, CpuLists) {
  EXPECT_EQ(cpus_text({3, 1, 2, 7}), "1-3,7");
  EXPECT_EQ(parse_cpus("0-1,8"), (CpuList{0, 1, 8}));
  for (const char* bad : {"1,1", "a", "1-", "-1", "5-2", "1,,2", "0-99999999999"}) EXPECT_FALSE(parse_cpus(bad)) << bad;
}

TEST(VmHost, PciAddresses) {
  EXPECT_EQ(PciAddress::parse("06:00.0")->text(), "0000:06:00.0");
  EXPECT_EQ(PciAddress::parse("0002:01:1f.7")->text(), "0002:01:1f.7");
  for (const char* bad : {"", "06:00", "6", "06:20.0", "06:00.8", "x6:00.0", "06:00.0 ", "123:00.0"})
    EXPECT_FALSE(PciAddress::parse(bad)) << bad;
}

}  // namespace
}  // namespace weft::gear
