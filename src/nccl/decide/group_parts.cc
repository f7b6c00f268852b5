// How the operations of one group share the channels. After NCCL 2.30 enqueue.cc, for operations that are alike: all
// have the algorithm and protocol of their sum, and fill channel after channel up to an even share of the traffic.
#include <algorithm>

#include "nccl/decide/communicator.h"

namespace weft::nccl {

namespace {

constexpr std::uint64_t kLeastTraffic_B = 32 << 10;  // of a channel

std::uint64_t whole_units(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit;
}

}  // namespace

std::vector<Parts> Communicator::group_parts(Collective collective, std::uint64_t size_B, std::uint32_t element_B,
                                             const Form& form) const {
  const std::uint32_t group = form.group;
  const Choice choice = choose(collective, size_B, form);
  const std::uint64_t ranks = ranks_.size();
  const bool gathers = collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  const std::uint64_t own_B = gathers ? size_B / ranks : size_B;
  std::uint64_t traffic = collective == Collective::kAllReduce ? 2 : gathers ? ranks : 1;
  if (choice.protocol == Protocol::kLl) traffic *= 4;
  const std::uint64_t most = choice.algorithm == Algorithm::kNvls || choice.algorithm == Algorithm::kNvlsTree
                                 ? nvls_.channels
                                 : channels_.size();
  const std::uint64_t share = std::min<std::uint64_t>(std::uint64_t{choice.channels} * group, most);
  const std::uint64_t share_B = whole_units(std::max(kLeastTraffic_B, own_B * traffic) * group / share, 16) * 16;
  const std::uint64_t cell_B = whole_units(whole_units(kLeastTraffic_B, traffic), 16) * 16;
  const std::uint64_t cell_elements_B = cell_B / element_B * element_B;
  const std::uint64_t cell_traffic_B = cell_B * traffic;
  const std::uint64_t cells = std::max<std::uint64_t>(whole_units(own_B, cell_B), 1);
  std::vector<Parts> all;
  std::uint64_t channel = 0, taken_B = 0;  // of the channel that is being filled
  for (std::uint32_t i = 0; i < group; ++i) {
    std::uint64_t each = std::min(cells, whole_units(share_B, cell_traffic_B));
    std::uint64_t first = channel + 1 == most
                              ? cells
                              : std::min(cells, whole_units(share_B - std::min(share_B, taken_B), cell_traffic_B));
    std::uint64_t middle = (cells - first) / each, last = (cells - first) % each;
    if (most < channel + (first != 0 ? 1 : 0) + middle + (last != 0 ? 1 : 0)) {
      middle = most - channel - 2;
      each = (cells - first) / (middle + 1);
      last = each + (cells - first) % (middle + 1);
    }
    if (last == 0 && middle != 0) {
      last = each;
      --middle;
    }
    if (first == 0) {  // that channel is full
      ++channel;
      first = middle == 0 ? last : each;
      if (middle == 0) last = 0;
      middle -= middle == 0 ? 0 : 1;
    }
    Parts parts;
    parts.first_channel = static_cast<std::uint32_t>(channel);
    parts.channels = static_cast<std::uint32_t>(1 + middle + (last != 0 ? 1 : 0));
    parts.first_B = first * cell_elements_B;
    parts.middle_B = middle == 0 ? 0 : each * cell_elements_B;
    parts.last_B = last * cell_elements_B;
    // The end of the last cell is not there.
    (parts.last_B != 0 ? parts.last_B : parts.first_B) -= cells * cell_elements_B - own_B;
    all.push_back(parts);
    if (last != 0) {
      channel += parts.channels - 1;
      taken_B = last * cell_elements_B * traffic;
    } else if (middle != 0) {
      channel += parts.channels;
      taken_B = 0;
    } else {
      taken_B += first * cell_elements_B * traffic;
    }
    if (taken_B >= share_B && channel + 1 != most) {
      ++channel;
      taken_B = 0;
    }
  }
  return all;
}

}  // namespace weft::nccl
