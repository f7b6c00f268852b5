// What NCCL's environment variables say, by their names; defaults are those of NCCL 2.30.
// nccl/decide/environment.h reads them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/path_type.h"

namespace weft::nccl {

// NCCL_ALGO and NCCL_PROTO hold for these, in this order.
enum class Function : std::uint8_t { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce };
inline constexpr std::size_t kFunctions = 5;
// NCCL's own order, with the two that need a switch that computes.
enum class ModelAlgorithm : std::uint8_t { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };
inline constexpr std::size_t kModelAlgorithms = 7;
inline constexpr std::size_t kProtocols = 3;
std::string_view to_string(Function function);         // "AllReduce"
std::string_view to_string(ModelAlgorithm algorithm);  // "Ring", as the tuning table shows it

inline constexpr std::int64_t kUnset = -2;

struct Environment {
  std::uint32_t version = 23000;  // as ncclGetVersion says it; no variable
  // Which devices.
  bool ib_disable = false;
  std::string ib_hca;         // "mlx5_0:1,mlx5_1", "^=mlx5_3"
  std::string socket_ifname;  // "=eth0", "^docker,lo"
  std::string net;            // NCCL_NET: "IB", "Socket"
  bool ib_merge_nics = true;
  // Paths.
  std::optional<PathType> net_gdr_level;
  std::int64_t net_gdr_read = kUnset;
  bool net_gdr_c2c = true;
  std::optional<PathType> p2p_level;
  bool shm_disable = false;
  bool pxn_disable = false;
  std::int64_t p2p_pxn_level = 2;
  std::int64_t cross_nic = 2;
  bool nvb_disable = false;
  bool net_force_flush = false;
  bool net_disable_intra = false;
  // Channels.
  std::int64_t min_nchannels = kUnset, max_nchannels = kUnset;
  std::int64_t min_ctas = kUnset, max_ctas = kUnset;
  std::int64_t nchannels_per_net_peer = kUnset;
  std::int64_t min_p2p_nchannels = 1, max_p2p_nchannels = 64;
  std::int64_t p2p_per_channel_net_bw = 14;
  // Algorithm and protocol; NCCL's three states of a protocol: off, on, on if it is safe.
  std::array<std::array<std::uint8_t, kModelAlgorithms>, kFunctions> algorithms{};
  std::array<std::array<std::uint8_t, kProtocols>, kFunctions> protocols{};
  bool algo_set = false, proto_set = false;
  std::string algo, proto;
  bool halving_doubling = false;  // no variable of NCCL: a lab asks for all-reduces by recursive halving and doubling
  std::int64_t nthreads = kUnset, ll128_nthreads = kUnset;
  std::int64_t net_overhead_ns = kUnset;
  std::int64_t pat_enable = 2;
  std::int64_t nvls_enable = 2;
  std::int64_t nvls_nchannels = kUnset, nvls_chunksize_B = kUnset, nvlstree_max_chunksize_B = kUnset;
  std::array<std::int64_t, 2 * kProtocols> thread_thresholds{-2, -2, -2, -2, -2, -2};
  // Buffers.
  std::int64_t buffsize_B = 4 << 20, ll_buffsize_B = 524288, ll128_buffsize_B = 4915200;
  std::int64_t p2p_net_chunksize_B = 128 << 10, p2p_pci_chunksize_B = 128 << 10, p2p_nvl_chunksize_B = 512 << 10;
  std::int64_t p2p_ll_threshold_B = 16384;
  // Queue pairs of the IB plugin.
  std::int64_t ib_gid_index = -1;
  std::int64_t ib_tc = -1, ib_sl = -1, ib_fifo_tc = -1;
  std::int64_t ib_timeout = 20, ib_retry_cnt = 7;
  std::int64_t ib_qps_per_connection = 1;
  bool ib_split_data_on_qps = false;
  std::int64_t ib_adaptive_routing = kUnset;  // default of RoCE: off
  std::int64_t ib_ar_threshold_B = 8192;
  bool ib_use_inline = false;
  std::int64_t ib_pci_relaxed_ordering = 2;
  std::int64_t ib_roce_version = 2;
  // Sockets.
  std::int64_t socket_nthreads = kUnset, nsocks_perthread = kUnset;
  // Files.
  std::string topo_file, topo_dump_file, graph_file, graph_dump_file;
  std::string topo_text, graph_text;  // what is in topo_file and graph_file: whoever makes a communicator reads them
  // Log.
  std::string debug, debug_subsys, debug_file;
  // Lines of the log for each variable, in the order in which they were given: name and value.
  std::vector<std::pair<std::string, std::string>> given;

  Environment();
  std::uint8_t traffic_class() const { return ib_tc < 0 ? 0 : static_cast<std::uint8_t>(ib_tc); }
  std::uint8_t service_level() const { return ib_sl < 0 ? 0 : static_cast<std::uint8_t>(ib_sl); }
};

}  // namespace weft::nccl
