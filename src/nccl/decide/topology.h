// One machine as NCCL draws it: CPUs (NUMA nodes), PCIe switches, GPUs, NVSwitch, NICs and their ports, with links that
// have a bandwidth, and the best path between any two of them. Follows NCCL 2.30 (graph/topo.h, topo.cc, paths.cc);
// bandwidths are NCCL's own constants in GB/s each way, with which it compares paths. They are not what data gets.
// Not modelled: NVLink between machines, C2C, several ranks on one GPU.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/decide/environment.h"
#include "spec/cluster.h"

namespace weft::nccl {

enum class CpuArch : std::uint8_t { kX86 = 1, kPower = 2, kArm = 3 };
enum class CpuVendor : std::uint8_t { kNone = 0, kIntel = 1, kAmd = 2, kZhaoxin = 3, kMixed = 4 };
struct CpuKind {
  CpuArch arch = CpuArch::kX86;
  CpuVendor vendor = CpuVendor::kIntel;
  std::uint32_t model = 2;              // of Intel: 1 Broadwell, 2 Skylake, 3 Sapphire Rapids, 4 Emerald Rapids
  double socket_bandwidth_GBps = 10.0;  // between two NUMA nodes
};
CpuKind cpu_kind(std::string_view word);  // "intel-skylake", "amd", …; Skylake for a word it does not know
bool is_cpu_kind(std::string_view word);

enum class GpuFabric : std::uint8_t { kNone, kPairs, kMesh, kNvSwitch };
GpuFabric gpu_fabric(const Machine& machine);

enum class NodeKind : std::uint8_t { kCpu, kPci, kNvSwitch, kGpu, kNic, kNet };

struct TopologyLink {
  PathType type = PathType::kLoc;  // kPix: PCIe
  std::uint32_t from = 0, to = 0;
  double bandwidth_GBps = 0;
};

struct TopologyNode {
  NodeKind kind = NodeKind::kCpu;
  std::uint32_t index = 0;           // of its kind
  std::uint64_t id = 0;              // bus id, NUMA node or device number, as the log shows it
  std::vector<std::uint32_t> links;  // that leave it
};

struct Path {
  PathType type = PathType::kDis;
  double bandwidth_GBps = 0;
  std::vector<std::uint32_t> links;
};

struct TopologyGpu {
  std::uint32_t node = 0;
  std::uint32_t device = 0;  // CUDA's and NVML's number
  std::uint32_t compute_capability = 0;
  double link_GBps = 0;  // of one NVLink
  bool gdr = false;
  bool peer_to_peer = false;  // CUDA lets others write to it over PCIe
};

// A network device as the plugin reports it: one NIC port, or several that are merged.
struct NetDevice {
  std::uint32_t node = 0;
  std::string name;                 // "mlx5_0", "mlx5_0+mlx5_1"
  std::vector<std::uint32_t> nics;  // of the machine
  double bandwidth_GBps = 0;
  std::uint32_t port = 1;
  std::uint64_t guid = 0;
  bool gdr = false;
  bool socket = false;
  std::int32_t local_gpu = -1;  // index in `gpus`
};

class Topology {
 public:
  // Topology of the GPUs that are ranks of this communicator. `inter`: there are ranks elsewhere too.
  Topology(const Machine& machine, std::vector<std::uint32_t> devices, bool inter, const Environment& environment);

  CpuKind cpu;
  std::vector<TopologyNode> nodes;
  std::vector<TopologyLink> links;  // the reverse of link i is i ^ 1
  std::vector<std::uint32_t> cpus;  // nodes
  std::vector<TopologyGpu> gpus;
  std::vector<NetDevice> nets;
  std::int32_t nvswitch = -1;  // node
  bool inter = false;
  double max_bandwidth_GBps = 0, total_bandwidth_GBps = 0;

  const Path& path(std::uint32_t from, std::uint32_t to) const { return paths_[from * nodes.size() + to]; }
  const Path& gpu_to_gpu(std::uint32_t from, std::uint32_t to) const { return path(gpus[from].node, gpus[to].node); }
  const Path& gpu_to_net(std::uint32_t gpu, std::uint32_t net) const { return path(gpus[gpu].node, nets[net].node); }
  const Path& net_to_gpu(std::uint32_t net, std::uint32_t gpu) const { return path(nets[net].node, gpus[gpu].node); }

  // GPUs that P2P and shared memory join: NCCL treats each such group as a node. Of one machine there is nearly always
  // one group; without shared memory each GPU may be on its own.
  std::vector<std::vector<std::uint32_t>> groups() const;

  bool peer_to_peer(std::uint32_t from, std::uint32_t to) const;
  bool gdr(std::uint32_t gpu, std::uint32_t net, bool read) const;
  // Whose proxy sends for this GPU through that device: its own, or that of the GPU on the PXN path.
  std::uint32_t intermediate_gpu(std::uint32_t gpu, std::uint32_t net) const;
  std::uint32_t local_cpu(std::uint32_t gpu) const;
  std::uint32_t local_net(std::uint32_t gpu, std::uint32_t channel) const;
  std::int32_t local_gpu(std::uint32_t net) const;
  std::vector<std::uint32_t> nearest_gpus(std::uint32_t net) const;
  // NICs that together feed the GPU's link, and their bandwidth.
  struct LocalNets {
    std::uint32_t count = 0;
    double bandwidth_GBps = 0;
  };
  LocalNets local_nets(std::uint32_t gpu) const;
  PathType nearest_path(bool to_nets) const;
  PathType farthest_path(bool to_nets) const;
  std::uint32_t min_compute_capability() const;

 private:
  Path& mutable_path(std::uint32_t from, std::uint32_t to) { return paths_[from * nodes.size() + to]; }
  std::uint32_t add_node(NodeKind kind, std::uint32_t index, std::uint64_t id);
  void connect(std::uint32_t a, std::uint32_t b, PathType type, double bandwidth_GBps);
  void add_layout(const Machine& machine);
  void add_gpus(const Machine& machine, const std::vector<std::uint32_t>& devices);
  void add_gpu_links(const Machine& machine);
  void add_nets(const Machine& machine);
  void find_paths();
  void find_paths_to(std::uint32_t base);
  void go_through(std::uint32_t middle, std::uint32_t from, std::uint32_t to, bool pxn);
  void divert_peer_to_peer();
  void find_net_paths();
  void set_search_limits();
  bool pxn_helps(std::uint32_t gpu, std::uint32_t peer, std::uint32_t net) const;
  std::vector<std::uint32_t> nearest_nets(std::uint32_t gpu) const;
  std::uint32_t find_local_net(std::uint32_t gpu, std::uint32_t channel) const;
  bool network_is_faster(std::uint32_t from, std::uint32_t to) const;

  Environment environment_;
  std::vector<std::uint32_t> slot_node_;  // node of a switch in this slot, or of the CPU that it belongs to
  std::vector<Path> paths_;
  std::vector<std::uint32_t> local_nets_;  // by GPU and channel, when all paths are known
};

// Bandwidth of a PCIe link as NCCL counts it: lanes by its rate for one lane.
double pcie_bandwidth_GBps(std::uint32_t generation, std::uint32_t lanes);

// "0000:81:00.0": where a GPU or NIC of the machine is said to be.
std::uint64_t gpu_bus_id(std::uint32_t device);
std::string bus_id_text(std::uint64_t id);  // "0000:81:00.0"

}  // namespace weft::nccl
