// layout, gpus, slot, numactl, pages, iommu and acs, and every mistake in them at its line.
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

// The good lab with `keys` in vm00.
std::string place_lab(std::string_view keys) {
  return good_lab_with("    kind: host\n", "    kind: host\n    host: epyc-7551p\n" + std::string(keys));
}
// And with `key` in its first workload.
std::string workload_lab(std::string_view keys, std::string_view key) {
  std::string text = place_lab(keys);
  const std::string_view end = "server: vm01}\n";
  text.replace(text.find(end), end.size(), "server: vm01, " + std::string(key) + "}\n");
  return text;
}

TEST(LabPlaces, CatalogLayoutOfSecondSeed) {
  const host::Layout& layout = *read_good(place_lab("")).hosts[0].model.layout;
  ASSERT_EQ(layout.nodes.size(), 4U);
  EXPECT_EQ(layout.node_of_cpu(0), 0U);
  EXPECT_EQ(layout.node_of_cpu(41), 1U);
  EXPECT_EQ(layout.node_of_cpu(16), 2U);
  EXPECT_EQ(layout.node_of_cpu(63), 3U);
  EXPECT_EQ(layout.node_of_cpu(64), std::nullopt);
  EXPECT_EQ(layout.nodes[0].siblings(3), std::vector<std::uint32_t>{35});
  EXPECT_EQ(layout.way(0, 3).size(), 1U);
  EXPECT_EQ(read_good(kGoodLab).hosts[0].model.layout->nodes.size(), 1U);
}

TEST(LabPlaces, ReadsAll) {
  const Lab lab =
      read_good(workload_lab("    numactl: {cpunodebind: 1}\n    pages: 2M\n    iommu: on\n    acs: true\n"
                             "    gpus: [{model: rtx-3090, slot: slot2}, h100-sxm]\n    gpu_fabric: pairs\n",
                             "client_numactl: {physcpubind: 60, membind: 0}, args: --use_cuda=0, "
                             "server_numactl: {membind: 0}"),
                {"nodes.vm00.nics[0].slot=slot3", "nodes.vm01.gpus=[rtx-3090]"});
  const HostConfig& host = lab.hosts[0];
  EXPECT_EQ(host.places.placement.cpu_node, 1U);
  EXPECT_EQ(host.places.placement.memory_node, std::nullopt);
  EXPECT_EQ(host.places.page_B, 2 << 20);
  EXPECT_EQ(host.places.iommu, host::Iommu::kOn);
  EXPECT_TRUE(host.places.acs);
  EXPECT_EQ(host.places.gpu_fabric, "pairs");
  ASSERT_EQ(host.places.gpus.size(), 2U);
  EXPECT_EQ(host.model.layout->slots[*host.places.gpus[0].slot].name, "slot2");
  EXPECT_EQ(host.model.layout->slots[*host.nics[0].slot].name, "slot3");
  const host::Placement& client = *lab.workloads[0].client_placement;
  EXPECT_EQ(client.cpu_node, 3U);
  EXPECT_EQ(client.memory_node, 0U);
  EXPECT_EQ(lab.workloads[0].server_placement->memory_node, 0U);
}

TEST(LabPlaces, MistakesAtTheirLine) {
  expect_problem(place_lab("    gpus: [{model: rtx-3090, slot: slot9}]\n"),
                 "7:36 there is no slot \"slot9\" | epyc-7551p has slot1, slot2, slot3, slot4, slot5, slot6");
  expect_problem(place_lab("    gpus: [{model: rtx-3090, slot: slot2}, {model: rtx-3090, slot: slot2}]\n"),
                 "7:68 there is a GPU in slot2 already | ");
  expect_problem(
      good_lab_with("model: cx4-lx-25g\n", "model: cx4-lx-25g\n        slot: slot1\n"),
      "8:15 there is no slot \"slot1\" | generic-x86 has no slots: leave it out, or describe them in layout");
  expect_problem(place_lab("    numactl: {cpunodebind: 4}\n"), "7:28 there is no NUMA node 4 | there are nodes 0 to 3");
  expect_problem(place_lab("    numactl: {physcpubind: 64}\n"),
                 "7:28 there is no CPU 64 | epyc-7551p has 0-7, 32-39, ");
  expect_problem(place_lab("    numactl: {physcpubind: 8, cpunodebind: 0}\n"), "7:28 CPU 8 is on NUMA node 1 | ");
  expect_problem(workload_lab("", "client_numactl: {membind: 4}"), "22:90 there is no NUMA node 4 | ");
  expect_problem(workload_lab("", "client_gpu: 0"), "22:76 vm00 has no GPU 0 | add gpus to the node");
  expect_problem(workload_lab("    gpus: [rtx-3090]\n", "args: --use_cuda=1"),
                 "23:70 --use_cuda=1: vm00 has no GPU 1 | its GPUs are numbered 0 to 0",
                 {"nodes.vm01.gpus=[rtx-3090, rtx-3090]"});
  expect_problem(place_lab("    iommu: maybe\n"), "7:12 iommu \"maybe\"");
  expect_problem(place_lab("    gpu_fabric: nvlink\n"), "7:17 gpu_fabric \"nvlink\"");
}

TEST(LabPlaces, RejectsGpuOfOtherVendor) {
  expect_problem(workload_lab("    gpus: [mi100]\n", "args: --use_cuda=0"),
                 "23:70 --use_cuda=0: mi100 of vm00 is no GPU of NVIDIA | write --use_rocm=0",
                 {"nodes.vm01.gpus=[rtx-3090]"});
}

std::string layout_lab(std::string_view layout) {
  return place_lab("    layout:\n" + std::string(layout));
}

TEST(LabPlaces, OwnLayout) {
  const Lab lab =
      read_good(layout_lab("      numa: [cpus 0-3 memory 8 GB lanes 16, cpus 4-7, memory 8 GB]\n"
                           "      numa_links: [0-1 100 Gbps 50 ns, 1-2 100 Gbps 50 ns load 10 % burst 4 KiB]\n"
                           "      slots: [sw node0 4.0 x16, a sw 4.0 x8, b sw 4.0 x8]\n"));
  const host::Layout& layout = *lab.hosts[0].model.layout;
  EXPECT_EQ(layout.way(0, 2).size(), 2U);
  EXPECT_EQ(layout.links[1].load_permille, 100U);
  EXPECT_TRUE(layout.is_switch(0));
  EXPECT_EQ(to_string(path_class(layout, 1, 2)), "PIX");
}

TEST(LabPlaces, LayoutsThatCannotBe) {
  expect_problem(
      layout_lab("      numa: [cpus 0-3 memory 8 GB lanes 16]\n      slots: [a node0 3.0 x8, b node0 3.0 x16]\n"),
      "9:31 the slots of node 0 take 24 lanes with b, and it has 16 | make slots narrower");
  expect_problem(layout_lab("      numa: [cpus 0-3 memory 8 GB]\n      slots: [a node0 3.0 x12]\n"),
                 "9:15 PCIe has no x12 link | write x1, x2, x4, x8 or x16");
  expect_problem(layout_lab("      numa: [cpus 0-3 memory 8 GB]\n      slots: [a node1 3.0 x8]\n"),
                 "9:15 there is no NUMA node 1 | there is node 0");
  expect_problem(layout_lab("      numa: [cpus 0-3 memory 8 GB, cpus 3-5 memory 8 GB]\n"),
                 "8:36 CPU 3 is on node 0 already");
  expect_problem(layout_lab("      numa: [cpus 0-3 memory 8 GB, cpus 4-7 memory 8 GB]\n"),
                 "8:36 nothing joins node 1 and node 0 | add a link: 0-1 170 Gbps 60 ns");
  expect_problem(layout_lab("      numa: [cpus 0-3 memory 8 GB, cpus 4-7]\n      numa_links: [0-1 100 Gbps 50 ns]\n"
                            "    numactl: {membind: 1}\n"),
                 "10:24 NUMA node 1 has no memory | name a node with memory");
  expect_problem(layout_lab("      numa: [cpus 0-3 memory 8 GB, cpus 4-7]\n      numa_links: [0-1 100 Gbps 50 ns]\n"
                            "    numactl: {cpunodebind: 1}\n"),
                 "10:14 NUMA node 1 has no memory | say where the memory is with membind");
  expect_problem(layout_lab("      numa: [cpus 0-3, cpus 4-7]\n      numa_links: [0-1 100 Gbps 50 ns]\n"),
                 "8:7 no NUMA node has memory | write memory 64 GB in a line of numa");
  expect_problem(layout_lab("      numa: [cpus 0-3 memory 8 GB]\n      slots: [a node0 9.0 x8]\n"
                            "    gpus: [{model: h200, slot: a}]\n    numactl: {cpunodebind: 0}\n"),
                 "9:15 there is no PCIe 9.0 | write 1.0 to 6.0");
  expect_problem(layout_lab("      numa: [cores 0-3]\n"), "8:14 \"cores 0-3\" does not describe a NUMA node");
}

}  // namespace
}  // namespace weft::lab
