#include "lab/idle_path.h"

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

}  // namespace

std::optional<workload::IdlePath> idle_path(World& world, const PortRef& from, const PortRef& to, std::uint64_t size_B,
                                            std::uint32_t mtu_B) {
  std::uint32_t source = world.port_id(from);
  std::uint32_t destination = world.port_id(to);
  std::vector<const fabric::LinkDirection*> there = links_between(world, source, destination);
  std::vector<const fabric::LinkDirection*> back = links_between(world, destination, source);
  if (there.empty() || back.empty()) return std::nullopt;
  const fabric::PortAddress& address = world.book()[source];
  std::uint32_t extra_B = fabric::kFraming_B + 4u * fabric::extra_words(address.v4, address.vlan.has_value());

  workload::IdlePath path;
  path.mtu_B = mtu_B;
  path.packet_extra_B = extra_B + kBth_B;
  auto packet_B = static_cast<std::uint32_t>(std::min<std::uint64_t>(size_B, mtu_B)) + path.packet_extra_B;
  // The last of the slowest links: a frame is whole when it is handled behind it, so all of the flow passes there.
  const fabric::LinkTiming* slowest = &there.front()->timing();
  for (const fabric::LinkDirection* link : there) {
    path.base_ps += handling_ps(link->timing(), packet_B);
    if (link->timing().ps_per_byte >= slowest->ps_per_byte) slowest = &link->timing();
  }
  path.base_ps -= handling_ps(*slowest, packet_B) - slowest->flight_ps - slowest->pipeline_ps;
  path.rate_bps = 8 * kSecond_ps / slowest->ps_per_byte;
  for (const fabric::LinkDirection* link : back)
    path.base_ps += handling_ps(link->timing(), extra_B + kBth_B + kAeth_B);

  const HostConfig& host = world.lab().hosts[from.host];
  const nic::NicModel& sender = host.nics[from.nic].model;
  path.base_ps += host.model.post_wqe_ps + host.model.doorbell_ps + host.model.mmio_write_ps + host.model.dma_read_ps +
                  sender.tx_latency_ps + host.model.dma_write_ps;
  path.base_ps += world.lab().hosts[to.host].nics[to.nic].model.response_latency_ps;
  return path;
}

}  // namespace weft::lab
