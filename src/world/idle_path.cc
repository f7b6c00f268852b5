#include "world/idle_path.h"

#include <algorithm>
#include <vector>

#include "wire/opcode.h"

namespace weft::lab {

namespace {

constexpr std::uint32_t kBth_B = 12;
constexpr std::uint32_t kAeth_B = 4;

// The links that a packet from one host port to another crosses; empty when it does not arrive.
std::vector<const fabric::LinkDirection*> links_between(World& world, std::uint32_t from, std::uint32_t to) {
  std::vector<const fabric::LinkDirection*> links;
  std::uint32_t port = from;
  while (links.size() <= world.switch_count()) {
    links.push_back(&world.link_from(port));
    std::uint32_t far = world.peer(port);
    if (far == to) return links;
    std::optional<std::uint32_t> next = world.first_route(far, to);
    if (!next) return {};
    port = *next;
  }
  return {};
}

Time_ps handling_ps(const fabric::LinkTiming& timing, std::uint32_t line_B) {
  std::uint32_t waited_B = timing.cut_through_B == 0 ? line_B : std::min(line_B, timing.cut_through_B);
  return timing.flight_ps + timing.pipeline_ps + Time_ps{waited_B} * timing.ps_per_byte;
}

// When the last packet of a flow is handled at the end of the path, from the first bit of the first. Packets wait for
// the one before them at every link, so this is the longest chain of such waits: some links with a full packet each,
// the other packets at the slowest of these links, and the rest of the links with the last packet, which may be short.
Time_ps last_handled_ps(const std::vector<const fabric::LinkDirection*>& links, std::uint64_t packets,
                        std::uint32_t full_B, std::uint32_t last_B) {
  Time_ps longest_ps = 0;
  for (const fabric::LinkDirection* link : links) longest_ps += handling_ps(link->timing(), last_B);
  if (packets == 1) return longest_ps;
  Time_ps before_ps = 0, after_ps = longest_ps, slowest_ps = 0;
  longest_ps = 0;
  for (const fabric::LinkDirection* link : links) {
    const Time_ps full_ps = Time_ps{full_B} * link->timing().ps_per_byte;
    slowest_ps = std::max(slowest_ps, full_ps);
    longest_ps = std::max(longest_ps, before_ps + static_cast<Time_ps>(packets - 2) * slowest_ps + full_ps + after_ps);
    before_ps += handling_ps(link->timing(), full_B);
    after_ps -= handling_ps(link->timing(), last_B);
  }
  return longest_ps;
}

}  // namespace

std::optional<Time_ps> idle_fct_ps(World& world, const PortRef& from, const PortRef& to, std::uint64_t size_B,
                                   std::uint32_t mtu_B) {
  const std::uint32_t source = world.port_id(carrier_of(world.lab(), from));
  const std::uint32_t destination = world.port_id(carrier_of(world.lab(), to));
  if (source == destination) return std::nullopt;  // inside one NIC
  std::vector<const fabric::LinkDirection*> there = links_between(world, source, destination);
  std::vector<const fabric::LinkDirection*> back = links_between(world, destination, source);
  if (there.empty() || back.empty()) return std::nullopt;
  const fabric::PortAddress& address = world.book()[source];
  const std::uint32_t extra_B = fabric::kFraming_B + 4u * fabric::extra_words(address.v4, address.vlan.has_value());
  const std::uint64_t packets = std::max<std::uint64_t>((size_B + mtu_B - 1) / mtu_B, 1);
  const std::uint32_t full_B = mtu_B + extra_B + kBth_B;
  const std::uint32_t last_B = static_cast<std::uint32_t>(size_B - (packets - 1) * mtu_B) + extra_B + kBth_B;
  Time_ps fct_ps = last_handled_ps(there, packets, full_B, last_B);
  for (const fabric::LinkDirection* link : back) fct_ps += handling_ps(link->timing(), extra_B + kBth_B + kAeth_B);

  const HostConfig& host = world.lab().hosts[from.host];
  const nic::NicModel& sender = host.nics[from.nic].model;
  fct_ps += host.model.post_wqe_ps + host.model.doorbell_ps + host.model.mmio_write_ps + host.model.dma_read_ps +
            sender.tx_latency_ps + host.model.dma_write_ps;
  return fct_ps + world.lab().hosts[to.host].nics[to.nic].model.response_latency_ps;
}

}  // namespace weft::lab
