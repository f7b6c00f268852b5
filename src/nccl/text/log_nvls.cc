#include "nccl/text/log_nvls.h"

#include <fmt/format.h>

#include <algorithm>

#include "nccl/schedule/schedule.h"
#include "nccl/text/log.h"

namespace weft::nccl {

namespace {

constexpr std::uint32_t kVersionOfTuningLine = 23000;  // before, the line of the support had the channels
constexpr std::size_t kMostNodesShown = 20;

std::int32_t head_index(const Communicator& communicator, std::uint32_t rank) {
  const std::vector<std::uint32_t>& heads = communicator.nvls().nodes[communicator.node_of(rank)].heads;
  const auto found = std::find(heads.begin(), heads.end(), rank);
  return found == heads.end() ? -1 : static_cast<std::int32_t>(found - heads.begin());
}

}  // namespace

void write_nvls_support(const Communicator& communicator, std::uint32_t rank, const SubsystemSink& sink) {
  const Environment& environment = communicator.environment();
  const Topology& topology = *communicator.nodes()[communicator.node_of(rank)].topology;
  if (environment.nvls_enable == 0 || topology.gpus.size() < 2) return;
  const bool can = environment.nvls_enable == 1 || (topology.nvswitch >= 0 && topology.min_compute_capability() >= 90);
  std::string line =
      fmt::format("NVLS multicast support is {}available on dev {}", can ? "" : "not ", communicator.ranks()[rank].gpu);
  if (environment.version < kVersionOfTuningLine)
    line += fmt::format(" (NVLS_NCHANNELS {})", communicator.nvls_channels());
  sink(kInit, line);
}

void write_nvls_heads(const Communicator& communicator, std::uint32_t rank, const SubsystemSink& sink) {
  const Nvls& nvls = communicator.nvls();
  if (nvls.channels == 0) return;
  if (communicator.environment().version >= kVersionOfTuningLine)
    sink(kInit, fmt::format("NVLS tuning: nChannels {} chunkSize {} treeMaxChunkSize {}", nvls.channels, nvls.chunk_B,
                            nvls.tree_chunk_B));
  if (nvls.nodes.size() == 1) return;
  for (std::size_t h = 0; communicator.node_of(rank) == 0 && h < nvls.nodes.front().heads.size(); ++h) {
    std::string line = fmt::format("NVLS Head {:2}:", h);
    for (std::size_t n = 0; n < std::min(nvls.nodes.size(), kMostNodesShown); ++n)
      line += fmt::format(" {:2}", nvls.nodes[n].heads[h]);
    sink(kInit, line);
  }
  const std::int32_t own = static_cast<std::int32_t>(communicator.ranks().size()) + 1 + head_index(communicator, rank);
  std::string line = "NVLS Trees :";
  for (const std::vector<TreeNode>& tree : nvls.trees)
    line += fmt::format(" {}/{}/{}->{}->{}", own, tree[rank].down[0], tree[rank].down[1], rank, tree[rank].up);
  sink(kGraphSearch, line);
}

void write_nvls_buffers(const Communicator& communicator, std::uint32_t rank, std::uint64_t comm,
                        const SubsystemSink& sink) {
  const Nvls& nvls = communicator.nvls();
  if (nvls.channels == 0) return;
  const NvlsNode& node = nvls.nodes[communicator.node_of(rank)];
  const std::uint64_t buffer_B = nvls.chunk_B * kBufferSteps;
  const std::uint64_t per_rank_B = nvls.channels * 2 * buffer_B;
  sink(
      kInit | kNvlsTransport,
      fmt::format("NVLS comm 0x{:x} headRank {} nHeads {} nvlsRanks {} buffSize {} nvlsPerRankSize {} nvlsTotalSize {}",
                  comm, head_index(communicator, rank), node.heads.size(), node.ranks.size(), buffer_B, per_rank_B,
                  per_rank_B * node.heads.size()));
}

}  // namespace weft::nccl
