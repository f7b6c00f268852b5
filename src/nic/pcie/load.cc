#include "nic/pcie/load.h"

#include <algorithm>

namespace weft::nic {

namespace {

// Direction of the link of one function.
const void* direction_of(const PcieFunction& function, bool writes) {
  return reinterpret_cast<const char*>(&function) + (writes ? 1 : 0);
}

std::uint32_t pieces_of(std::uint32_t payload_B, std::uint32_t piece_B) {
  return (payload_B + piece_B - 1) / piece_B;
}

}  // namespace

std::vector<PcieLoad> read_load(const PcieFunction& function, std::uint32_t payload_B) {
  const PciePath* path = function.path();
  if (path == nullptr)
    return {{direction_of(function, false), PcieLimit::kLink, static_cast<double>(function.link_ps(payload_B))}};
  const PciePathSettings& settings = path->settings();
  const std::uint32_t requests = pieces_of(payload_B, settings.max_read_request_B);
  std::vector<PcieLoad> loads;
  for (const PcieChannel* channel : settings.reads) {
    double busy_ps = 0;
    for (std::uint32_t left_B = payload_B; left_B > 0;) {
      const std::uint32_t size_B = std::min(left_B, settings.max_read_request_B);
      left_B -= size_B;
      busy_ps += static_cast<double>(channel->occupied_ps(size_B, settings.completion_B, kCompletionOverhead_B));
    }
    loads.push_back({channel, path->limit_of(*channel), busy_ps});
  }
  for (const PcieChannel* channel : settings.writes) {
    if (channel->carries_tlps)
      loads.push_back({channel, path->limit_of(*channel),
                       static_cast<double>(requests) * static_cast<double>(request_ps(*channel))});
  }
  if (settings.read_tags > 0)
    loads.push_back(
        {direction_of(function, false), PcieLimit::kReadRequests,
         static_cast<double>(requests) * static_cast<double>(path->read_latency_ps()) / settings.read_tags});
  return loads;
}

std::vector<PcieLoad> write_load(const PcieFunction& function, std::uint32_t payload_B) {
  const PciePath* path = function.path();
  if (path == nullptr)
    return {{direction_of(function, true), PcieLimit::kLink, static_cast<double>(function.link_ps(payload_B))}};
  const PciePathSettings& settings = path->settings();
  std::vector<PcieLoad> loads;
  for (const PcieChannel* channel : settings.writes)
    loads.push_back({channel, path->limit_of(*channel),
                     static_cast<double>(channel->occupied_ps(payload_B, settings.max_payload_B, kTlpOverhead_B))});
  if (settings.write_window_B > 0) {
    const std::uint32_t tlps = pieces_of(payload_B, settings.max_payload_B);
    const double in_flight = settings.write_window_B / settings.max_payload_B;
    loads.push_back({direction_of(function, true), settings.ordered ? PcieLimit::kOrderedWrites : PcieLimit::kWrites,
                     tlps * static_cast<double>(path->write_latency_ps()) / in_flight});
  }
  return loads;
}

}  // namespace weft::nic
