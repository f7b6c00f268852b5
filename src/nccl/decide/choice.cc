// Which algorithm and protocol a collective takes, with how many channels and threads. After NCCL 2.30 enqueue.cc.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "nccl/decide/communicator.h"
#include "nccl/decide/rccl_tuning.h"

namespace weft::nccl {

namespace {

constexpr std::uint32_t kWarpThreads = 32;
constexpr std::uint32_t kAllThreads = 640;
constexpr std::uint32_t kVersion29 = 22900;  // before, a channel got 16 KiB of traffic at least
constexpr std::uint32_t kVersion20 = 22000;  // before, sends of one node left room for those to all other ranks

std::optional<Function> function_of(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return Function::kAllReduce;
    case Collective::kAllGather:
      return Function::kAllGather;
    case Collective::kReduceScatter:
      return Function::kReduceScatter;
    case Collective::kBroadcast:
      return Function::kBroadcast;
    case Collective::kReduce:
      return Function::kReduce;
    default:
      return std::nullopt;
  }
}

Algorithm shown(ModelAlgorithm algorithm) {
  switch (algorithm) {
    case ModelAlgorithm::kTree:
      return Algorithm::kTree;
    case ModelAlgorithm::kNvls:
      return Algorithm::kNvls;
    case ModelAlgorithm::kNvlsTree:
      return Algorithm::kNvlsTree;
    case ModelAlgorithm::kPat:
      return Algorithm::kPat;
    default:
      return Algorithm::kRing;
  }
}

constexpr std::uint64_t kHalvingThreads = 512, kHalvingThreshold = 64;  // as NCCL's Simple
// NVLS and NVLSTree where they reduce.
bool needs_switch(std::size_t algorithm, Collective collective) {
  const auto model = static_cast<ModelAlgorithm>(algorithm);
  return (model == ModelAlgorithm::kNvls || model == ModelAlgorithm::kNvlsTree) && collective != Collective::kAllGather;
}

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  constexpr std::string_view kNames[] = {"TREE", "RING", "NVLS", "NVLS_TREE", "PAT", "HALVING_DOUBLING", "MSCCL"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

// On the channels of sends and receives, fewer of them for what is small.
Choice Communicator::halving_choice(std::uint64_t size_B) const {
  Choice choice;
  choice.algorithm = Algorithm::kHalvingDoubling;
  std::uint64_t channels = p2p_channels_;
  while (channels >= 2 && size_B < channels * kHalvingThreads * kHalvingThreshold) --channels;
  choice.channels = static_cast<std::uint32_t>(channels);
  choice.threads = kHalvingThreads;
  return choice;
}

Choice Communicator::choose(Collective collective, std::uint64_t size_B, const Form& form) const {
  Choice choice;
  const auto function = function_of(collective);
  if (!function) {
    // Sends and receives: 640 threads in each block; LL only where no network is crossed, and by the size of a part.
    const std::uint64_t peers = collective == Collective::kSendRecv || collective == Collective::kHypercube
                                    ? 1
                                    : std::max<std::uint64_t>(ranks_.size(), 1);
    const std::uint64_t part_B = divided_up(size_B, peers);
    choice.channels = p2p_parts(part_B);
    choice.threads = kAllThreads;
    const auto limit_B = static_cast<std::uint64_t>(std::max<std::int64_t>(environment_->p2p_ll_threshold_B, 0));
    if (nodes_.size() == 1 && part_B <= choice.channels * limit_B) choice.protocol = Protocol::kLl;
    return choice;
  }
  const auto all = static_cast<std::uint32_t>(channels_.size());
  if (ranks_.size() <= 1) {
    choice.channels = all;
    return choice;
  }
  if (collective == Collective::kAllReduce && environment_->halving_doubling) return halving_choice(size_B);
  size_B *= form.group;
  if (chooses_all_pairs(*function, size_B, choice)) return choice;
  double best_us = std::numeric_limits<double>::max();
  std::size_t algorithm = kModelAlgorithms, protocol = 0;
  for (std::size_t a = 0; a < kModelAlgorithms; ++a) {
    if (needs_switch(a, collective) && !form.in_switch) continue;
    for (std::size_t p = 0; p < kProtocols; ++p) {
      const double us = tuning_.time_us(*function, static_cast<ModelAlgorithm>(a), p, size_B, all, form.group);
      const bool left_out = form.scales && a == static_cast<std::size_t>(ModelAlgorithm::kPat) &&
                            collective == Collective::kReduceScatter;
      if (us < 0 || us >= best_us || left_out) continue;
      best_us = us;
      algorithm = a;
      protocol = p;
    }
  }
  if (algorithm == kModelAlgorithms) return choice;  // unavailable() says so
  const auto model = static_cast<ModelAlgorithm>(algorithm);
  choice.algorithm = shown(model);
  choice.protocol = static_cast<Protocol>(protocol);
  choice.predicted_us = best_us;
  std::uint64_t channels = all;
  const auto nodes = static_cast<std::uint32_t>(nodes_.size());
  if (rccl_ && !environment_->proto_set) {
    const auto f = static_cast<std::size_t>(*function);
    const bool ll128 = tuning_.bandwidth_GBps[f][algorithm][static_cast<std::size_t>(Protocol::kLl128)] > 0;
    choice.protocol = rccl_protocol(rccl_table(amd_arch_, rccl_model_), amd_arch_, nodes, ranks_.size(), ll128,
                                    *function, size_B, choice.protocol);
    protocol = static_cast<std::size_t>(choice.protocol);
  }
  std::uint64_t threads = tuning_.max_threads[algorithm][protocol];
  auto threshold = static_cast<std::uint64_t>(tuning_.thread_thresholds[algorithm][protocol]);
  if (rccl_) {
    channels = rccl_channels(amd_arch_, nodes, ranks_.size(), *function, size_B, all);
    threshold = rccl_thread_threshold(nodes, ranks_.size(), *function, choice.protocol, threshold);
  }
  if (model == ModelAlgorithm::kNvls || model == ModelAlgorithm::kNvlsTree) {
    channels = nvls_.channels;
  } else {
    while (channels >= 2 && size_B < channels * threads * threshold) --channels;
    while (threads % 128 == 0 && size_B < channels * threads * threshold) threads /= 2;
  }
  if (choice.protocol == Protocol::kSimple && choice.algorithm == Algorithm::kRing) threads += kWarpThreads;
  threads = std::max<std::uint64_t>(threads, 3 * kWarpThreads);
  if (choice.algorithm == Algorithm::kTree || choice.algorithm == Algorithm::kPat) threads = kAllThreads;
  choice.channels = static_cast<std::uint32_t>(channels);
  choice.threads = rccl_ ? kRcclThreads : static_cast<std::uint32_t>(threads);
  return choice;
}

// RCCL leaves the all-reduce of what is not large in one machine to MSCCL.
bool Communicator::chooses_all_pairs(Function function, std::uint64_t size_B, Choice& choice) const {
  if (!rccl_model_ || nodes_.size() > 1 || function != Function::kAllReduce) return false;
  if (environment_->algo_set || environment_->proto_set) return false;
  const auto found = msccl_all_reduce(size_B);
  if (!found || found->blocks > std::max<std::size_t>(channels_.size(), p2p_channels_)) return false;
  choice.algorithm = Algorithm::kAllPairs;
  choice.protocol = found->protocol;
  choice.channels = found->blocks;
  choice.threads = kRcclThreads;
  return true;
}

std::string Communicator::unavailable(Collective collective, bool in_switch) const {
  const auto function = function_of(collective);
  if (!function || ranks_.size() <= 1) return {};
  const auto& rows = tuning_.bandwidth_GBps[static_cast<std::size_t>(*function)];
  for (std::size_t a = 0; a < kModelAlgorithms; ++a) {
    if (needs_switch(a, collective) && !in_switch) continue;
    if (std::ranges::any_of(rows[a], [](double GBps) { return GBps > 0; })) return {};
  }
  std::string message = fmt::format("no algorithm and protocol available for {}", to_string(*function));
  if (environment_->algo_set) message += fmt::format(", NCCL_ALGO is {}", environment_->algo);
  if (environment_->proto_set) message += fmt::format(", NCCL_PROTO is {}", environment_->proto);
  return message;
}

// A channel gets at least 32 KiB of traffic, in cells of 16 bytes.
Parts Communicator::parts(Collective collective, std::uint64_t size_B, std::uint32_t element_B,
                          const Form& form) const {
  const Choice choice = choose(collective, size_B, {1, form.scales, form.in_switch});
  const std::uint64_t ranks = ranks_.size();
  // All channels work on every part of the buffer.
  if (choice.algorithm == Algorithm::kAllPairs) return {choice.channels, size_B, 0, 0};
  const bool old = environment_->version < kVersion29;
  const std::uint64_t least_traffic_B = old ? 16 << 10 : 32 << 10;
  const bool gathers = collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  const std::uint64_t own_B = gathers ? size_B / ranks : size_B;
  std::uint64_t traffic = collective == Collective::kAllReduce ? 2 : gathers ? ranks : 1;
  if (choice.protocol == Protocol::kLl) traffic *= 4;
  std::uint64_t channel_traffic_B = std::max(least_traffic_B, own_B * traffic) / choice.channels;
  channel_traffic_B = old ? std::max(least_traffic_B, channel_traffic_B) : divided_up(channel_traffic_B, 16) * 16;
  const std::uint64_t cell_B = divided_up(divided_up(least_traffic_B, traffic), 16) * 16;
  const std::uint64_t cell_elements_B = cell_B / element_B * element_B;
  const std::uint64_t cells = std::max<std::uint64_t>(divided_up(own_B, cell_B), 1);
  const std::uint64_t most = choice.algorithm == Algorithm::kNvls || choice.algorithm == Algorithm::kNvlsTree
                                 ? nvls_.channels
                                 : channels_.size();
  std::uint64_t each = std::min(cells, divided_up(channel_traffic_B, cell_B * traffic));
  const std::uint64_t first = most == 1 ? cells : each;
  std::uint64_t middle = (cells - first) / each, last = (cells - first) % each;
  if (most < 1 + middle + (last != 0 ? 1 : 0)) {
    middle = most - 2;
    each = (cells - first) / (middle + 1);
    last = each + (cells - first) % (middle + 1);
  }
  if (last == 0 && middle != 0) {
    last = each;
    --middle;
  }
  Parts parts;
  parts.channels = static_cast<std::uint32_t>(1 + middle + (last != 0 ? 1 : 0));
  parts.first_B = first * cell_elements_B;
  parts.middle_B = middle == 0 ? 0 : each * cell_elements_B;
  parts.last_B = last * cell_elements_B;
  // The end of the last cell is not there.
  (parts.last_B != 0 ? parts.last_B : parts.first_B) -= cells * cell_elements_B - own_B;
  return parts;
}

std::uint32_t Communicator::p2p_parts(std::uint64_t bytes) const {
  if (bytes == 0) return 1;
  // As few as fill all channels when every rank is a peer, and more when a part would be large.
  std::uint32_t most = p2p_channels_per_peer_;
  std::uint32_t least = most;
  while (least > 1 && least * ranks_.size() > p2p_channels_) least /= 2;
  if (nodes_.size() == 1 && environment_->version < kVersion20) {
    while (most > 1 && most * ranks_.size() > std::size_t{p2p_channels_} * 4) most /= 2;
  }
  const std::uint64_t step_B = p2p_chunk_B_;
  const bool network = nodes_.size() > 1;
  const std::uint64_t least_B = network ? step_B / 2 : step_B / 8, most_B = network ? step_B : step_B * 32;
  auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(least, divided_up(bytes, least_B)));
  std::uint64_t part_B = std::max(least_B, divided_up(bytes, count));
  while (part_B > most_B && count <= most / 2) {
    count *= 2;
    part_B = divided_up(bytes, count);
  }
  return count;
}

}  // namespace weft::nccl
