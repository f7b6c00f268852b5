#include "analyze/random_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/time.h"
#include "wire/bytes.h"

namespace weft::planted {
namespace {

using Kinds = std::set<std::string>;
using Ports = std::vector<std::string>;
using enum Draft::Shape;

constexpr std::int64_t kUs = 1000, kMs = 1'000'000;

std::int64_t psn_diff(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t d = (a - b) & 0xffffff;
  return d < 0x800000 ? d : static_cast<std::int64_t>(d) - 0x1000000;
}

bool any_counter(const GroundTruth& truth, std::uint64_t nic::Counters::*counter) {
  return std::any_of(truth.result.ports.begin(), truth.result.ports.end(),
                     [counter](const lab::PortOutcome& port) { return port.counters.*counter != 0; });
}

Ports until(const Ports& path, const std::string& port) {
  const auto at = std::find(path.begin(), path.end(), port);
  return {path.begin(), at == path.end() ? at : at + 1};
}
Ports after(const Ports& path, const std::string& port) {
  const auto at = std::find(path.begin(), path.end(), port);
  return at == path.end() ? Ports() : Ports(at + 1, path.end());
}

// A hop that the packets of the first flow pass: requests, or responses.
std::string any_hop(const Draft& draft, Dice& dice, bool of_responses) {
  const DraftFlow& flow = draft.flows.front();
  const Ports hops = of_responses ? draft.hops(flow.server, flow.client) : draft.hops(flow.client, flow.server);
  return hops[static_cast<std::size_t>(dice.pick(0, static_cast<std::int64_t>(hops.size()) - 1))];
}

std::int64_t span_ns(const std::vector<const Sighting*>& kept, bool (*wanted)(const Sighting&)) {
  std::int64_t first_ns = -1, last_ns = -1;
  for (const Sighting* each : kept) {
    if (!wanted(*each)) continue;
    if (first_ns < 0) first_ns = each->time_ns;
    last_ns = each->time_ns;
  }
  return last_ns - first_ns;
}
std::int64_t count(const std::vector<const Sighting*>& kept, bool (*wanted)(const Sighting&)) {
  return std::count_if(kept.begin(), kept.end(), [wanted](const Sighting* each) { return wanted(*each); });
}
bool is_marked(const Sighting& each) {
  return each.is_ce && each.is_data();
}
bool is_cnp(const Sighting& each) {
  return each.is_cnp();
}
bool is_data(const Sighting& each) {
  return each.is_data();
}
bool is_any(const Sighting& each) {
  return each.is_roce;
}

// --- What is lost -------------------------------------------------------------------------------------------------

// Packets that the run marked as lost, each with its way to the retransmission that arrived.
std::vector<Incident> find_losses(GroundTruth& truth, Dice&) {
  std::vector<Incident> found;
  const bool is_exhausted = any_counter(truth, &nic::Counters::req_transport_retries_exceeded);
  for (std::size_t i = 0; i < truth.seen.size(); ++i) {
    const Sighting& lost = truth.seen[i];
    const bool corrupted = lost.mark == Mark::kCorrupted && lost.outbound;
    if (!lost.is_roce || lost.is_cnp()) continue;
    if (lost.mark != Mark::kDropped && lost.mark != Mark::kLinkDown && !corrupted) continue;
    const std::string& port = truth.port_of(lost);
    const Ports path = truth.path_of(lost);
    Incident incident;
    incident.begin_ns = lost.time_ns;
    incident.a = lost.src;
    incident.b = lost.dst;
    Kinds right = {"psn.lost"};
    if (lost.is_response()) right.insert("read-response.lost");
    bool by_timeout = false, has_consequence = true;
    if (lost.is_ack()) {
      // Told only by what the requester retransmits because of it.
      std::size_t again = i + 1;
      while (again < truth.seen.size() && !(truth.seen[again].is_retransmission && truth.seen[again].src == lost.dst &&
                                            truth.seen[again].dst == lost.src && truth.seen[again].is_request() &&
                                            psn_diff(truth.seen[again].psn, lost.psn) <= 0))
        ++again;
      has_consequence = again < truth.seen.size() && psn_diff(lost.psn, truth.seen[again].psn) < 512;
      incident.end_ns = has_consequence ? truth.seen[again].time_ns + 3 * kUs : lost.time_ns;
      by_timeout = true;
    } else {
      std::size_t again = i;
      do again = truth.next_of(again, port);
      while (again != kNoRecord && truth.seen[again].mark != Mark::kNone && truth.seen[again].mark != Mark::kCeMarked);
      const std::size_t arrived = again == kNoRecord || path.empty() ? kNoRecord : truth.next_of(again, path.back());
      has_consequence = again != kNoRecord;
      incident.end_ns = arrived != kNoRecord
                            ? truth.seen[arrived].time_ns
                            : (again == kNoRecord ? truth.end_ns() : truth.seen[again].time_ns + 3 * kUs);
      by_timeout = incident.end_ns - incident.begin_ns > 500 * kUs;
    }
    if (by_timeout) right.insert("timeout.waited");
    if (is_exhausted) right.insert("timeout.retries-exhausted");
    incident.what =
        fmt::format("{} opcode {:#x} psn {} at {}", corrupted ? "corrupted" : "lost", lost.opcode, lost.psn, port);
    const Ports before = until(path, port), behind = after(path, port);
    if (corrupted) {
      Kinds bad = {"integrity.icrc"};
      const std::size_t frame_B = truth.capture.records[i].original_B == 0 ? 0 : 1;
      if (frame_B != 0) bad = {"integrity.icrc", "psn.lost"};
      incident.shows.push_back({{behind}, bad, frame_B == 0});
      right.insert("integrity.icrc");
    }
    incident.shows.push_back({{before, behind}, right, has_consequence});
    incident.shows.push_back({{before}, right, has_consequence});
    incident.shows.push_back({{behind}, right, has_consequence && !by_timeout && !corrupted});
    found.push_back(std::move(incident));
  }
  return found;
}

void plant_one_lost(Draft& draft, Dice& dice) {
  const std::int64_t packets = draft.packets(draft.flows.front());
  draft.faults.push_back(fmt::format("link: \"{}\", action: drop, frames: request, qp: 0, psn: {}, transmission: 1",
                                     any_hop(draft, dice, false), dice.pick(0, packets - 1)));
}

void plant_some_lost(Draft& draft, Dice& dice) {
  const std::int64_t packets = draft.packets(draft.flows.front());
  const std::string hop = any_hop(draft, dice, false);
  const std::int64_t from = dice.pick(0, packets - 1), n = dice.pick(2, 6);
  const bool in_a_row = dice.chance(40), twice = dice.chance(30);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t psn = in_a_row ? from + i : dice.pick(0, packets - 1);
    draft.faults.push_back(
        fmt::format("link: \"{}\", action: drop, frames: request, qp: 0, psn: {}, transmission: 1", hop, psn));
    if (twice)
      draft.faults.push_back(
          fmt::format("link: \"{}\", action: drop, frames: request, qp: 0, psn: {}, transmission: 2", hop, psn));
  }
}

void plant_random_loss(Draft& draft, Dice& dice) {
  const std::int64_t tenths = dice.pick(3, 40);
  const char* frames = dice.one_of<const char*>({"request", "response", "any", "request"});
  const bool responses = std::string(frames) == "response";
  draft.faults.push_back(fmt::format("link: \"{}\", {}action: drop, frames: {}, probability: {}.{} %",
                                     any_hop(draft, dice, responses), dice.chance(30) ? "both_directions: true, " : "",
                                     frames, tenths / 10, tenths % 10));
}

void plant_response_lost(Draft& draft, Dice& dice) {
  const std::int64_t packets = draft.packets(draft.flows.front());
  const std::int64_t n = dice.pick(1, 3);
  for (std::int64_t i = 0; i < n; ++i)
    draft.faults.push_back(fmt::format("link: \"{}\", action: drop, frames: response, qp: 0, psn: {}, transmission: 1",
                                       any_hop(draft, dice, true), dice.pick(0, packets - 1)));
}

void plant_ack_lost(Draft& draft, Dice& dice) {
  draft.flows.front().depth = dice.one_of({1, 1, 2, 4});
  draft.flows.front().extra += fmt::format(", timeout: {}", dice.pick(8, 16));
  const std::int64_t packets = draft.packets(draft.flows.front());
  draft.faults.push_back(fmt::format("link: \"{}\", action: drop, frames: response, qp: 0, psn: {}",
                                     any_hop(draft, dice, true),
                                     dice.chance(50) ? packets - 1 : dice.pick(0, packets - 1)) +
                         ", transmission: 1");
}

void plant_tail_lost(Draft& draft, Dice& dice) {
  DraftFlow& flow = draft.flows.front();
  flow.depth = 1;
  flow.extra += fmt::format(", timeout: {}", dice.pick(8, 18));
  const std::int64_t each = draft.packets(flow) / flow.count;
  draft.faults.push_back(fmt::format("link: \"{}\", action: drop, frames: request, qp: 0, psn: {}, transmission: 1",
                                     any_hop(draft, dice, false), each * dice.pick(1, flow.count) - 1));
}

void plant_outage(Draft& draft, Dice& dice) {
  const std::int64_t from_us = dice.pick(3, 60);
  const std::int64_t length_us = dice.chance(50) ? dice.pick(15, 400) : dice.pick(400, 30'000);
  draft.faults.push_back(fmt::format("link: \"{}\", both_directions: true, action: cut, start: {} us, end: {} us",
                                     any_hop(draft, dice, false), from_us, from_us + length_us));
}

void plant_link_down(Draft& draft, Dice& dice) {
  for (DraftFlow& flow : draft.flows)
    flow.extra = fmt::format(", timeout: {}, retry_cnt: {}", dice.pick(6, 12), dice.pick(2, 7));
  draft.faults.push_back(fmt::format("link: \"{}\", both_directions: true, action: cut, start: {} us, end: 1000 s",
                                     any_hop(draft, dice, false), dice.pick(3, 60)));
}

// The same losses, with the name that a link has that is down.
std::vector<Incident> find_outage(GroundTruth& truth, Dice& dice) {
  std::vector<Incident> losses = find_losses(truth, dice);
  std::int64_t first_ns = INT64_MAX, last_ns = 0;
  for (const Incident& each : losses) {
    first_ns = std::min(first_ns, each.begin_ns);
    last_ns = std::max(last_ns, each.begin_ns);
  }
  for (Incident& each : losses) {
    for (Evidence& evidence : each.shows) {
      evidence.right.insert("psn.outage");
      // Both sides see that nothing passed for long.
      const bool is_plain = losses.size() >= 20 && last_ns - first_ns > 200 * kUs;
      if (evidence.ports.size() == 2 && is_plain) {
        evidence.right.erase("psn.lost");
        evidence.right.erase("timeout.waited");
        evidence.right.erase("read-response.lost");
      }
    }
  }
  return losses;
}

void plant_corruption(Draft& draft, Dice& dice) {
  if (dice.chance(50)) {
    const std::int64_t packets = draft.packets(draft.flows.front());
    draft.faults.push_back(
        fmt::format("link: \"{}\", action: corrupt, frames: request, qp: 0, psn: {}, transmission: 1",
                    any_hop(draft, dice, false), dice.pick(0, packets - 1)));
  } else {
    draft.faults.push_back(fmt::format("link: \"{}\", action: corrupt, probability: 0.{} %",
                                       any_hop(draft, dice, false), dice.pick(3, 9)));
  }
}

// --- Switches that lose -------------------------------------------------------------------------------------------

void plant_small_mtu(Draft& draft, Dice& dice) {
  draft.mtu_B = dice.one_of({4200, 9000});
  DraftFlow large = draft.flows.front();
  large.verb = dice.one_of<const char*>({"write", "read", "send"});
  large.size_B = dice.pick(8'000, 200'000);
  large.count = dice.pick(1, 3);
  large.start_ns = 20 * kUs;
  DraftFlow small = large;
  small.verb = large.is_read() ? "read" : "send";
  small.size_B = dice.pick(64, 900);
  small.count = dice.pick(200, 500);
  small.depth = 4;
  small.start_ns = 0;
  large.extra = ", timeout: 8";
  draft.flows = {small, large};
  const Ports hops = large.is_read() ? draft.hops(large.server, large.client) : draft.hops(large.client, large.server);
  const std::string& port = hops.back();  // of the leaf, to the host
  const std::size_t colon = port.find(':');
  draft.switch_extra[port.substr(0, colon)] =
      fmt::format("    ports: {{{}: {{mtu: 1500 B}}}}\n", port.substr(colon + 1));
}

std::vector<Incident> find_small_mtu(GroundTruth& truth, Dice&) {
  const DraftFlow& large = truth.draft.flows[1];
  Incident incident{"an MTU of 1500 B",          0, truth.end_ns(), truth.address(large.client),
                    truth.address(large.server), {}};
  std::vector<Incident> found;
  // Large data packets end at the switch in front of the host.
  for (const Sighting& each : truth.seen) {
    if (!each.is_data() || !each.is_between(incident.a, incident.b) || !each.outbound) continue;
    const Ports path = truth.path_of(each);
    const std::string last =
        large.is_read() ? truth.draft.hosts[large.client].port() : truth.draft.hosts[large.server].port();
    Ports before = path;
    std::erase(before, last);
    const Kinds unclear = {"psn.mtu", "timeout.retries-exhausted", "timeout.waited", "psn.lost", "read-response.lost"};
    // What the capture holds once is not seen to be retransmitted.
    const auto sent_again = [](const std::vector<const Sighting*>& kept) {
      std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, int> times;
      for (const Sighting* s : kept)
        if (s->is_data()) ++times[{s->interface, s->dest_qp, s->psn}];
      return std::count_if(kept.begin(), kept.end(), [&times](const Sighting* s) {
        return s->is_retransmission && times[{s->interface, s->dest_qp, s->psn}] > 1;
      });
    };
    // Small packets that pass, too.
    incident.shows = {{{before, {last}},
                       {"psn.mtu", "timeout.retries-exhausted"},
                       true,
                       [sent_again](const std::vector<const Sighting*>& kept) {
                         return sent_again(kept) >= 7 && count(kept, is_data) - sent_again(kept) >= 100;
                       }},
                      {{before}, unclear, true, [sent_again](const auto& kept) { return sent_again(kept) >= 7; }},
                      {{{last}}, unclear, false}};
    return {incident};
  }
  return found;
}

// --- Order and copies ---------------------------------------------------------------------------------------------

void plant_late(Draft& draft, Dice& dice) {
  const bool reads = draft.flows.front().is_read();
  const std::int64_t delay_ns = dice.chance(50) ? dice.pick(500, 6'000) : dice.pick(6'000, 150'000);
  const std::string where = fmt::format("link: \"{}\", action: delay, delay: {} ns, frames: {}",
                                        any_hop(draft, dice, reads), delay_ns, reads ? "response" : "request");
  const std::int64_t packets = draft.packets(draft.flows.front());
  if (dice.chance(50)) {
    draft.faults.push_back(where + fmt::format(", qp: 0, psn: {}, transmission: 1", dice.pick(0, packets - 2)));
  } else {
    draft.faults.push_back(where + fmt::format(", probability: {} %", dice.pick(1, 4)));
  }
}

std::vector<Incident> find_late(GroundTruth& truth, Dice&) {
  std::vector<Incident> found;
  for (std::size_t i = 0; i < truth.seen.size(); ++i) {
    const Sighting& late = truth.seen[i];
    if (late.mark != Mark::kDelayed || !late.is_data() || !late.outbound) continue;
    const std::string& port = truth.port_of(late);
    const Ports path = truth.path_of(late);
    if (path.empty() || path.back() == port) continue;
    // The first that was sent later and comes first; and when the packet itself comes, which may be after its copy.
    std::int64_t overtaken_ns = -1, last_ns = late.time_ns;
    std::map<std::uint32_t, bool> sent_later;
    for (std::size_t j = i + 1; j < truth.seen.size() && truth.seen[j].time_ns < late.time_ns + 400 * kUs; ++j) {
      const Sighting& each = truth.seen[j];
      if (!each.is_roce || each.way() != late.way()) continue;
      if (truth.port_of(each) == port) sent_later[each.psn] = true;
      if (truth.port_of(each) != path.back()) continue;
      if (each.psn == late.psn)
        last_ns = each.time_ns;
      else if (overtaken_ns < 0 && last_ns == late.time_ns && sent_later.contains(each.psn) &&
               psn_diff(each.psn, late.psn) > 0)
        overtaken_ns = each.time_ns;
    }
    bool has_consequence = false;
    for (std::size_t j = i + 1; j < truth.seen.size() && !has_consequence; ++j)
      has_consequence = truth.seen[j].is_retransmission && truth.seen[j].is_between(late.src, late.dst) &&
                        truth.seen[j].time_ns < last_ns + 50 * kUs;
    Incident incident{fmt::format("psn {} late at {}", late.psn, port), late.time_ns, last_ns, late.src, late.dst, {}};
    Kinds unclear = {"psn.reordered", "psn.lost", "psn.spurious"};
    if (late.is_response()) unclear.insert("read-response.lost");
    incident.shows.push_back({{after(path, port)}, {"psn.reordered"}, overtaken_ns >= 0});
    incident.shows.push_back({{until(path, port)}, unclear, overtaken_ns >= 0 && has_consequence});
    found.push_back(std::move(incident));
  }
  return found;
}

void plant_duplicates(Draft& draft, Dice& dice) {
  const std::string where = fmt::format("link: \"{}\", action: duplicate, delay: {} ns, frames: request",
                                        any_hop(draft, dice, false), dice.pick(100, 20'000));
  const std::int64_t packets = draft.packets(draft.flows.front());
  if (dice.chance(60)) {
    draft.faults.push_back(where + fmt::format(", qp: 0, psn: {}, transmission: 1", dice.pick(0, packets - 1)));
  } else {
    draft.faults.push_back(where + fmt::format(", probability: {} %", dice.pick(1, 4)));
  }
}

std::vector<Incident> find_duplicates(GroundTruth& truth, Dice&) {
  std::vector<Incident> found;
  for (std::size_t i = 0; i < truth.seen.size(); ++i) {
    const Sighting& twice = truth.seen[i];
    if (twice.mark != Mark::kDuplicated || !twice.outbound || !twice.is_request()) continue;
    const Ports path = truth.path_of(twice);
    if (path.empty()) continue;
    const std::size_t one = truth.next_of(i, path.back());
    const std::size_t two = one == kNoRecord ? kNoRecord : truth.next_of(one, path.back());
    if (two == kNoRecord) continue;
    Incident incident{fmt::format("psn {} twice behind {}", twice.psn, truth.port_of(twice)),
                      twice.time_ns,
                      truth.seen[two].time_ns,
                      twice.src,
                      twice.dst,
                      {}};
    incident.shows.push_back({{after(path, truth.port_of(twice))}, {"psn.duplicate"}, true});
    found.push_back(std::move(incident));
  }
  return found;
}

// --- Marks and notifications --------------------------------------------------------------------------------------

void cnp_class(Draft& draft) {
  if (draft.qos.starts_with("profile: none") || draft.qos.starts_with("profile: sonic"))
    draft.qos = "dscp: 26, priority: 3, ecn: true, cnp_dscp: 48, cnp_priority: 6";
}

void plant_marks(Draft& draft, Dice& dice, int from, int to) {
  cnp_class(draft);
  draft.faults.push_back(fmt::format("link: \"{}\", action: ce-mark, frames: request, probability: {} %",
                                     any_hop(draft, dice, false), dice.pick(from, to)));
}
// On the last cable, so that the marks of all senders to one host are of one kind.
void plant_marks_at_receiver(Draft& draft, Dice& dice) {
  cnp_class(draft);
  const DraftFlow& flow = draft.flows.front();
  draft.faults.push_back(fmt::format("link: \"{}\", action: ce-mark, frames: request, probability: {} %",
                                     draft.hops(flow.client, flow.server).back(), dice.pick(2, 8)));
}
void plant_few_marks(Draft& draft, Dice& dice) {
  plant_marks(draft, dice, 1, 5);
}

// Twenty marks over half a millisecond: ten times what a notification point waits.
bool has_marks_for_long(const std::vector<const Sighting*>& kept) {
  return count(kept, is_marked) >= 20 && span_ns(kept, is_marked) >= 500 * kUs;
}

// Ports of a path at which CE-marked data was seen.
Ports marked_ports(const GroundTruth& truth, const wire::IpAddress& a, const wire::IpAddress& b) {
  Ports ports;
  for (const Sighting& each : truth.seen) {
    if (!is_marked(each) || !each.is_between(a, b)) continue;
    if (std::find(ports.begin(), ports.end(), truth.port_of(each)) == ports.end()) ports.push_back(truth.port_of(each));
  }
  return ports;
}
Ports all_ports(const GroundTruth& truth, const wire::IpAddress& a, const wire::IpAddress& b) {
  Ports ports;
  for (const Sighting& each : truth.seen) {
    if (!each.is_between(a, b)) continue;
    if (std::find(ports.begin(), ports.end(), truth.port_of(each)) == ports.end()) ports.push_back(truth.port_of(each));
  }
  return ports;
}

template <class Wanted>
void erase_records(GroundTruth& truth, const Wanted& wanted) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < truth.seen.size(); ++i) {
    if (wanted(truth.seen[i])) continue;
    if (kept != i) {
      truth.seen[kept] = truth.seen[i];
      truth.capture.records[kept] = std::move(truth.capture.records[i]);
    }
    ++kept;
  }
  truth.seen.resize(kept);
  truth.capture.records.resize(kept);
}

Incident of_flow(const GroundTruth& truth, std::size_t flow, std::string what) {
  const DraftFlow& each = truth.draft.flows[flow];
  return {std::move(what), 0, truth.end_ns(), truth.address(each.client), truth.address(each.server), {}};
}

std::vector<Incident> find_no_cnp(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "no CNP to the first sender");
  erase_records(truth, [&](const Sighting& each) { return each.is_cnp() && each.dst == incident.a; });
  incident.shows.push_back({{marked_ports(truth, incident.a, incident.b)}, {"cnp.missing"}, true, has_marks_for_long});
  return {incident};
}

// CNPs that pass the first ports of their way and not the last ones.
std::vector<Incident> find_vanished_cnps(GroundTruth& truth, Dice& dice) {
  Incident incident = of_flow(truth, 0, "CNPs vanish on their way");
  Ports path;
  for (const Sighting& each : truth.seen)
    if (each.is_cnp() && each.dst == incident.a && path.empty()) path = truth.path_of(each);
  if (path.size() < 2) return {};
  const std::string last = path[static_cast<std::size_t>(dice.pick(0, static_cast<std::int64_t>(path.size()) - 2))];
  const Ports gone = after(path, last), there = until(path, last);
  erase_records(truth, [&](const Sighting& each) {
    return each.is_cnp() && each.dst == incident.a &&
           std::find(gone.begin(), gone.end(), truth.port_of(each)) != gone.end();
  });
  const Kinds right = {"cnp.missing", "cnp.lost", "psn.lost"};
  Ports marked_and_gone;
  for (const std::string& port : marked_ports(truth, incident.a, incident.b))
    if (std::find(gone.begin(), gone.end(), port) != gone.end()) marked_and_gone.push_back(port);
  incident.shows.push_back({{there, gone}, right, true, [](const std::vector<const Sighting*>& kept) {
                              const std::int64_t cnps = count(kept, is_cnp);
                              return cnps >= 8 || (cnps == 0 && count(kept, is_data) >= 300);
                            }});
  incident.shows.push_back({{marked_and_gone}, right, true, has_marks_for_long});
  return {incident};
}

void plant_deaf_sender(Draft& draft, Dice& dice) {
  plant_marks(draft, dice, 8, 30);  // would take most of the rate
  draft.hosts[draft.flows.front().client].qos = "congestion: {algorithm: off}";
}
std::vector<Incident> find_deaf_sender(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "a sender that ignores CNPs");
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)},
                            {"rate-reaction.none"},
                            true,
                            [](const std::vector<const Sighting*>& kept) {
                              return count(kept, is_cnp) >= 30 && count(kept, is_data) >= 800;
                            }});
  return {incident};
}

void plant_late_cnps(Draft& draft, Dice& dice) {
  plant_marks(draft, dice, 1, 3);
  draft.hosts[draft.flows.front().server].set = fmt::format("cnp_generation: {} us", dice.pick(150, 500));
}
std::vector<Incident> find_late_cnps(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "late CNPs");
  incident.shows.push_back({{{truth.draft.hosts[truth.draft.flows[0].server].port()}},
                            {"cnp.late", "cnp.missing"},
                            true,
                            [](const std::vector<const Sighting*>& kept) {
                              return count(kept, is_cnp) >= 6 && count(kept, is_marked) >= 6;
                            }});
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)}, {"cnp.late", "cnp.missing"}, false});
  return {incident};
}

std::vector<Incident> find_without_marks(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "CNPs that nothing asked for");
  for (std::size_t i = 0; i < truth.seen.size(); ++i)
    if (truth.seen[i].is_ce)
      truth.capture.rewrite(
          i, [](wire::RoceHeaders& headers) { headers.tos = static_cast<std::uint8_t>((headers.tos & 0xfc) | 2); });
  truth.look_again();
  const auto enough = [](const std::vector<const Sighting*>& kept) { return count(kept, is_cnp) >= 6; };
  incident.shows.push_back({{{truth.draft.hosts[truth.draft.flows[0].server].port()}}, {"cnp.unasked"}, true, enough});
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)}, {"cnp.unasked"}, false});
  return {incident};
}

std::vector<Incident> find_bad_cnps(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "CNPs without BECN");
  for (std::size_t i = 0; i < truth.seen.size(); ++i) {
    if (!truth.seen[i].is_cnp()) continue;
    const std::size_t bth = truth.capture.records[i].bytes.size() - 4 - 16 - 12;
    truth.capture.byte(i, bth + 4) = 0;
  }
  incident.shows.push_back(
      {{all_ports(truth, incident.a, incident.b)}, {"cnp.format"}, true, [](const std::vector<const Sighting*>& kept) {
         return count(kept, is_cnp) >= 1;
       }});
  return {incident};
}

void plant_cnp_in_data_class(Draft& draft, Dice& dice) {
  draft.qos = "profile: roce-lossless, cnp_dscp: 26, cnp_priority: 3";
  plant_marks(draft, dice, 2, 6);
}
std::vector<Incident> find_cnp_in_data_class(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "CNPs in the class of the data");
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)},
                            {"traffic-class.cnp"},
                            true,
                            [](const std::vector<const Sighting*>& kept) {
                              return count(kept, is_cnp) >= 3 && count(kept, is_data) >= 30;
                            }});
  return {incident};
}

void plant_all_marked(Draft& draft, Dice& dice) {
  plant_marks(draft, dice, 100, 100);
}
std::vector<Incident> find_all_marked(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "every packet is marked");
  incident.shows.push_back({{marked_ports(truth, incident.a, incident.b)},
                            {"traffic-class.ce-share"},
                            true,
                            [](const std::vector<const Sighting*>& kept) {
                              return count(kept, is_marked) >= 300 && span_ns(kept, is_marked) > kMs;
                            }});
  return {incident};
}

// --- Classes ------------------------------------------------------------------------------------------------------

void plant_wrong_dscp(Draft& draft, Dice&) {
  draft.hosts[draft.flows.front().client].qos = "dscp: 0, priority: 0";
}
bool has_both_ways(const std::vector<const Sighting*>& kept, const wire::IpAddress& a) {
  const auto from = [&](bool is_a) {
    return std::count_if(kept.begin(), kept.end(), [&](const Sighting* each) {
      return each->is_roce && !each->is_cnp() && (each->src == a) == is_a;
    });
  };
  return from(true) >= 20 && from(false) >= 20;
}
std::vector<Incident> find_wrong_dscp(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "a host that sends DSCP 0");
  const wire::IpAddress a = incident.a;
  incident.shows.push_back(
      {{all_ports(truth, incident.a, incident.b)},
       {"traffic-class.wrong"},
       true,
       [a](const std::vector<const Sighting*>& kept) { return count(kept, is_data) >= 30 && has_both_ways(kept, a); }});
  return {incident};
}

void plant_not_ect(Draft& draft, Dice&) {
  draft.hosts[draft.flows.front().client].qos = "ecn: false";
}
std::vector<Incident> find_not_ect(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "a host that sends without ECT");
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)},
                            {"traffic-class.not-ect"},
                            true,
                            [a = incident.a](const std::vector<const Sighting*>& kept) {
                              return std::count_if(kept.begin(), kept.end(), [&](const Sighting* each) {
                                       return each->is_data() && each->src == a;
                                     }) >= 30;
                            }});
  return {incident};
}

bool is_of_way(const Sighting& each, const wire::IpAddress& from, const wire::IpAddress& to) {
  return each.is_roce && !each.is_cnp() && each.src == from && each.dst == to;
}

std::vector<Incident> find_rewritten(GroundTruth& truth, Dice& dice) {
  Incident incident = of_flow(truth, 0, "a DSCP that a switch rewrites");
  Ports path;
  for (const Sighting& each : truth.seen)
    if (is_of_way(each, incident.a, incident.b) && path.empty()) path = truth.path_of(each);
  if (path.size() < 2) return {};
  const std::string last = path[static_cast<std::size_t>(dice.pick(0, static_cast<std::int64_t>(path.size()) - 2))];
  const Ports behind = after(path, last);
  for (std::size_t i = 0; i < truth.seen.size(); ++i) {
    if (!is_of_way(truth.seen[i], incident.a, incident.b)) continue;
    if (std::find(behind.begin(), behind.end(), truth.port_of(truth.seen[i])) == behind.end()) continue;
    truth.capture.rewrite(i,
                          [](wire::RoceHeaders& headers) { headers.tos = static_cast<std::uint8_t>(headers.tos & 3); });
  }
  const Kinds right = {"traffic-class.rewritten"};
  incident.shows.push_back({{until(path, last), behind}, right, true, [](const std::vector<const Sighting*>& kept) {
                              return count(kept, is_data) >= 30;
                            }});
  incident.shows.push_back({{behind}, {"traffic-class.rewritten", "traffic-class.wrong"}, false});
  return {incident};
}

std::vector<Incident> find_mixed(GroundTruth& truth, Dice& dice) {
  Incident incident = of_flow(truth, 0, "packets of one queue pair in two classes");
  const auto every = static_cast<std::uint32_t>(dice.pick(2, 5));
  for (std::size_t i = 0; i < truth.seen.size(); ++i)
    if (is_of_way(truth.seen[i], incident.a, incident.b) && truth.seen[i].psn % every == 0)
      truth.capture.rewrite(
          i, [](wire::RoceHeaders& headers) { headers.tos = static_cast<std::uint8_t>(headers.tos & 3); });
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)},
                            {"traffic-class.mixed"},
                            true,
                            [](const std::vector<const Sighting*>& kept) { return count(kept, is_data) >= 40; }});
  return {incident};
}

// --- Pauses -------------------------------------------------------------------------------------------------------

const char* kPfcAlone = "profile: roce-lossless, queues: {0: {ecn: off}, 3: {ecn: off}}, groups: {3: {alpha: -3}}";

void plant_storm(Draft& draft, Dice& dice) {
  draft.qos = kPfcAlone;
  const std::int64_t from_us = dice.pick(100, 500);
  const std::int64_t length_us = dice.chance(60) ? dice.pick(220'000, 300'000) : dice.pick(15'000, 100'000);
  for (DraftFlow& flow : draft.flows) flow.extra = ", timeout: 20";
  draft.faults.push_back(fmt::format("link: \"{}\", action: pause-storm, priority: 3, start: {} us, end: {} us",
                                     draft.hosts[draft.flows.front().server].port(), from_us, from_us + length_us));
}
Ports ports_at(const Draft& draft, std::size_t host) {
  Ports ports = {draft.hosts[host].port()};
  if (draft.shape != kCable) ports.push_back(draft.hops(host == 0 ? 1 : 0, host).back());
  return ports;
}
std::vector<Incident> find_storm(GroundTruth& truth, Dice&) {
  Incident incident{"a pause storm", 0, truth.end_ns(), {}, {}, {}, true};
  const Kinds right = {"pause.storm", "pause.share", "pause.spread", "pause.unpaired"};
  incident.shows.push_back({{ports_at(truth.draft, truth.draft.flows[0].server)},
                            {"pause.storm"},
                            true,
                            [](const std::vector<const Sighting*>& kept) {
                              return !kept.empty() && kept.back()->time_ns - kept.front()->time_ns > 210 * kMs;
                            }});
  incident.shows.push_back(
      {{ports_at(truth.draft, truth.draft.flows[0].server)}, right, true, [](const std::vector<const Sighting*>& kept) {
         return kept.size() >= 8 && kept.back()->time_ns - kept.front()->time_ns > 10 * kMs;
       }});
  incident.shows.push_back({{[&] {
                              Ports others;
                              for (const Interface& each : truth.capture.interfaces) others.push_back(each.name);
                              return others;
                            }()},
                            {"pause.storm", "pause.share", "pause.spread", "pause.unpaired", "timeout.waited"},
                            false,
                            [](const auto&) { return false; }});
  return {incident};
}

void plant_slow_receiver(Draft& draft, Dice& dice) {
  draft.qos = kPfcAlone;
  draft.faults.push_back(fmt::format("link: \"{}\", action: slow-receiver, rate: {} Gbps",
                                     draft.hosts[draft.flows.front().server].port(), dice.pick(5, 12)));
}
void plant_pfc_incast(Draft& draft, Dice&) {
  draft.qos = kPfcAlone;
}
void plant_global_pause(Draft& draft, Dice&) {
  draft.qos = std::string(kPfcAlone) + ", pfc: {mode: pause}";
}

// Ports that were stopped for a good part of the run, by the run's own counters of the time in pause.
std::vector<Incident> find_paused(GroundTruth& truth, const Kinds& right) {
  std::vector<Incident> found;
  const auto add = [&](const std::string& port, const std::string& peer, Time_ps paused_ps) {
    const std::int64_t paused_ns = paused_ps / 1000;
    const double share =
        static_cast<double>(paused_ns) / static_cast<double>(std::max<std::int64_t>(1, truth.end_ns()));
    if (share < 0.05) return;
    Incident incident{
        fmt::format("{} stopped {:.0f} % of the time", port, share * 100), 0, truth.end_ns(), {}, {}, {}, true};
    incident.shows.push_back({{{port, peer}},
                              right,
                              share >= 0.4 && paused_ns >= 800 * kUs,
                              [end = truth.end_ns()](const std::vector<const Sighting*>& kept) {
                                return kept.size() >= 8 && kept.back()->time_ns - kept.front()->time_ns > end / 2;
                              }});
    found.push_back(std::move(incident));
  };
  for (const lab::PortOutcome& each : truth.result.ports)
    add(each.name, each.peer, *std::max_element(each.pause_rx_ps.begin(), each.pause_rx_ps.end()));
  for (std::size_t s = 0; s < truth.result.switches.size(); ++s)
    for (const lab::SwitchPortOutcome& each : truth.result.switches[s].ports)
      add((s < static_cast<std::size_t>(truth.draft.leaves)
               ? fmt::format("leaf{}:", s)
               : fmt::format("spine{}:", s - static_cast<std::size_t>(truth.draft.leaves))) +
              each.name,
          each.peer, *std::max_element(each.pause_rx_ps.begin(), each.pause_rx_ps.end()));
  return found;
}
std::vector<Incident> find_much_paused(GroundTruth& truth, Dice&) {
  return find_paused(truth, {"pause.share", "pause.spread", "pause.storm"});
}
std::vector<Incident> find_global_pause(GroundTruth& truth, Dice&) {
  std::vector<Incident> found = find_paused(truth, {"pause.global"});
  for (Incident& each : found)
    for (Evidence& evidence : each.shows) evidence.right.insert({"pause.spread", "pause.share"});
  return found;
}

void plant_deaf_to_pauses(Draft& draft, Dice&) {
  draft.qos = kPfcAlone;
  draft.hosts[draft.flows.front().client].qos = "pfc: {mode: none}";
}
std::vector<Incident> find_deaf_to_pauses(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "a host that ignores pauses");
  incident.counts_pauses = true;
  const std::size_t client = truth.draft.flows[0].client;
  Ports ports = {truth.draft.hosts[client].port()};
  for (const lab::PortOutcome& each : truth.result.ports)
    if (each.name == ports.front()) ports.push_back(each.peer);
  incident.shows.push_back({{ports}, {"pause.violated"}, true, [](const std::vector<const Sighting*>& kept) {
                              return std::count_if(kept.begin(), kept.end(),
                                                   [](const Sighting* each) { return each->is_pause; }) >= 20;
                            }});
  Ports all;
  for (const Interface& each : truth.capture.interfaces) all.push_back(each.name);
  incident.shows.push_back({{all},
                            {"pause.violated", "pause.share", "pause.spread", "psn.lost", "pause.slow-response"},
                            false,
                            [](const auto&) { return false; }});
  return {incident};
}

// --- Answers ------------------------------------------------------------------------------------------------------

void plant_refused(Draft& draft, Dice& dice) {
  DraftFlow& flow = draft.flows.front();
  flow.count = 1;
  flow.extra = std::string(", misuse: ") +
               (flow.verb == "write" ? dice.one_of<const char*>({"wrong-rkey", "beyond-region", "no-remote-write"})
                                     : dice.one_of<const char*>({"wrong-rkey", "beyond-region"}));
}
std::vector<Incident> find_refused(GroundTruth& truth, Dice&) {
  std::vector<Incident> found;
  for (const Sighting& nak : truth.seen) {
    if (!nak.is_nak() || !nak.outbound || (nak.syndrome & 0x1f) == 0) continue;
    Incident incident = of_flow(truth, 0, "a request that is refused");
    incident.begin_ns = nak.time_ns;
    incident.end_ns = nak.time_ns + 2 * kUs;
    incident.shows.push_back({{truth.path_of(nak)},
                              {(nak.syndrome & 0x1f) == 1   ? "nak.invalid-request"
                               : (nak.syndrome & 0x1f) == 2 ? "nak.remote-access"
                                                            : "nak.remote-operational"},
                              true,
                              [](const std::vector<const Sighting*>& kept) {
                                return std::any_of(kept.begin(), kept.end(),
                                                   [](const Sighting* each) { return each->is_nak(); });
                              }});
    found.push_back(std::move(incident));
    break;
  }
  return found;
}

void plant_late_receives(Draft& draft, Dice& dice) {
  DraftFlow& flow = draft.flows.front();
  flow.size_B = std::min<std::int64_t>(flow.size_B, 20'000);
  flow.count = std::min<std::int64_t>(flow.count, 40);
  flow.extra = fmt::format(", receive_delay: {} us, min_rnr_timer: {}", dice.pick(20, 300), dice.pick(5, 14));
}
void plant_no_receives(Draft& draft, Dice& dice) {
  DraftFlow& flow = draft.flows.front();
  flow.size_B = std::min<std::int64_t>(flow.size_B, 20'000);
  flow.count = std::min<std::int64_t>(flow.count, 40);
  flow.extra = fmt::format(", misuse: no-receive, rnr_retry: {}, min_rnr_timer: {}", dice.pick(1, 5), dice.pick(5, 14));
}
std::vector<Incident> find_not_ready(GroundTruth& truth, Dice&) {
  std::vector<Incident> found;
  for (const Sighting& nak : truth.seen) {
    if (!nak.is_rnr_nak() || !nak.outbound || truth.port_of(nak) != truth.path_of(nak).front()) continue;
    Incident incident = of_flow(truth, 0, "an RNR NAK");
    incident.begin_ns = nak.time_ns;
    incident.end_ns = nak.time_ns + 3 * kUs;
    incident.shows.push_back(
        {{truth.path_of(nak)}, {"rnr.no-receive", "rnr.exhausted"}, true, [](const std::vector<const Sighting*>& kept) {
           return std::any_of(kept.begin(), kept.end(), [](const Sighting* each) { return each->is_rnr_nak(); });
         }});
    found.push_back(std::move(incident));
  }
  return found;
}

void plant_dead_peer(Draft& draft, Dice& dice) {
  DraftFlow& flow = draft.flows.front();
  flow.count = 1;
  flow.extra = fmt::format(", misuse: dead-peer, timeout: {}, retry_cnt: {}", dice.pick(6, 14), dice.pick(3, 7));
}
std::vector<Incident> find_dead_peer(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "a peer that is gone");
  const Kinds right = {"timeout.retries-exhausted", "timeout.waited", "psn.lost"};
  std::int64_t sent = 0;
  for (const Sighting& each : truth.seen)
    sent += each.is_retransmission && each.is_between(incident.a, incident.b) &&
                    truth.port_of(each) == truth.draft.hosts[truth.draft.flows[0].client].port()
                ? 1
                : 0;
  // Seven attempts, or the end of all: what comes after the last attempt is the end of the capture.
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)},
                            {"timeout.retries-exhausted"},
                            true,
                            [sent](const std::vector<const Sighting*>& kept) {
                              return sent >= 7 && std::count_if(kept.begin(), kept.end(), [](const Sighting* s) {
                                                    return s->is_retransmission;
                                                  }) == sent;
                            }});
  incident.shows.push_back(
      {{all_ports(truth, incident.a, incident.b)}, right, true, [](const std::vector<const Sighting*>& kept) {
         return std::count_if(kept.begin(), kept.end(), [](const Sighting* s) { return s->is_retransmission; }) >= 2;
       }});
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)}, right, false});
  return {incident};
}

void plant_short_timeout(Draft& draft, Dice& dice) {
  draft.cable = fmt::format("kind: fibre, length: {} km", dice.pick(8, 30));
  DraftFlow& flow = draft.flows.front();
  flow.depth = dice.one_of({1, 2});
  flow.count = std::min<std::int64_t>(flow.count, 30);
  flow.extra = ", timeout: 3";
  draft.flows.resize(1);
}
std::vector<Incident> find_short_timeout(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "an ACK timeout below the round trip");
  const Kinds right = {"timeout.waited", "psn.spurious", "timeout.retries-exhausted"};
  const std::string client = truth.draft.hosts[truth.draft.flows[0].client].port();
  const auto enough = [](const std::vector<const Sighting*>& kept) {
    return std::count_if(kept.begin(), kept.end(), [](const Sighting* s) { return s->is_retransmission; }) >= 3;
  };
  incident.shows.push_back({{{client}}, right, true, enough});
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)}, right, false});
  return {incident};
}

void plant_migreq(Draft& draft, Dice& dice) {
  DraftFlow back = draft.flows.front();
  std::swap(back.client, back.server);
  draft.flows.push_back(back);
  draft.hosts[draft.flows.front().server].model =
      draft.hosts[draft.flows.front().client].model == "e810-100g" ? "cx5-100g" : "e810-100g";
  (void)dice;
}
std::vector<Incident> find_migreq(GroundTruth& truth, Dice&) {
  Incident incident = of_flow(truth, 0, "MigReq 1 and 0");
  incident.shows.push_back(
      {{all_ports(truth, incident.a, incident.b)},
       {"migreq.mix"},
       true,
       [a = incident.a](const std::vector<const Sighting*>& kept) { return has_both_ways(kept, a); }});
  return {incident};
}

// --- Frames that are changed where they were sent, so at every port ------------------------------------------------

// One packet of the first flow, at every port that it passed.
template <class Wanted>
std::vector<std::size_t> any_packet(const GroundTruth& truth, Dice& dice, const Wanted& wanted, Incident& incident) {
  std::vector<std::size_t> sent, all;
  for (std::size_t i = 0; i < truth.seen.size(); ++i) {
    const Sighting& each = truth.seen[i];
    if (each.outbound && each.is_between(incident.a, incident.b) && wanted(each) &&
        truth.path_of(each).front() == truth.port_of(each))
      sent.push_back(i);
  }
  if (sent.size() < 3) return all;
  const std::size_t one = sent[static_cast<std::size_t>(dice.pick(1, static_cast<std::int64_t>(sent.size()) - 2))];
  for (std::size_t i = one; i < truth.seen.size(); ++i)
    if (truth.seen[i].is_roce && truth.seen[i].way() == truth.seen[one].way() &&
        truth.seen[i].psn == truth.seen[one].psn && truth.seen[i].opcode == truth.seen[one].opcode)
      all.push_back(i);
  incident.begin_ns = truth.seen[all.front()].time_ns;
  incident.end_ns = truth.seen[all.back()].time_ns;
  return all;
}

template <class Wanted>
std::vector<Incident> rewritten_packet(GroundTruth& truth, Dice& dice, const std::string& what, const Wanted& wanted,
                                       Kinds right, void (*change)(wire::RoceHeaders&)) {
  Incident incident = of_flow(truth, 0, what);
  const std::vector<std::size_t> packet = any_packet(truth, dice, wanted, incident);
  if (packet.empty()) return {};
  const Sighting one = truth.seen[packet.front()];
  for (std::size_t i : packet) truth.capture.rewrite(i, change);
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)}, std::move(right), true});
  (void)one;
  return {incident};
}

bool is_last_of_several(const Sighting& each) {
  return each.opcode == 0x08 || each.opcode == 0x02;
}
bool is_write_with_reth(const Sighting& each) {
  return each.opcode == 0x06 || each.opcode == 0x0a;
}
bool is_middle(const Sighting& each) {
  return each.opcode == 0x07 || each.opcode == 0x01;
}
bool is_ack(const Sighting& each) {
  return each.is_ack() && each.syndrome < 0x20;
}

std::vector<Incident> find_no_last(GroundTruth& truth, Dice& dice) {
  return rewritten_packet(truth, dice, "a message that ends with MIDDLE", is_last_of_several,
                          {"opcode-sequence.broken", "integrity.path-mtu", "message-length.reth"},
                          [](wire::RoceHeaders& headers) {
                            headers.opcode = headers.opcode == wire::Opcode::kWriteLast ? wire::Opcode::kWriteMiddle
                                                                                        : wire::Opcode::kSendMiddle;
                          });
}
std::vector<Incident> find_wrong_reth(GroundTruth& truth, Dice& dice) {
  return rewritten_packet(truth, dice, "a RETH that announces too much", is_write_with_reth, {"message-length.reth"},
                          [](wire::RoceHeaders& headers) { headers.dma_len += 8192; });
}
std::vector<Incident> find_changed_verb(GroundTruth& truth, Dice& dice) {
  return rewritten_packet(truth, dice, "another verb within a message", is_middle, {"opcode-sequence.broken"},
                          [](wire::RoceHeaders& headers) {
                            headers.opcode = headers.opcode == wire::Opcode::kWriteMiddle ? wire::Opcode::kSendMiddle
                                                                                          : wire::Opcode::kWriteMiddle;
                          });
}
std::vector<Incident> find_wrong_msn(GroundTruth& truth, Dice& dice) {
  return rewritten_packet(truth, dice, "an ACK with another MSN", is_ack, {"msn.wrong"},
                          [](wire::RoceHeaders& headers) { headers.msn = (headers.msn + 7) & 0xffffff; });
}
std::vector<Incident> find_unsent_ack(GroundTruth& truth, Dice& dice) {
  return rewritten_packet(truth, dice, "an ACK of what was never sent", is_ack, {"ack.unsent"},
                          [](wire::RoceHeaders& headers) { headers.psn = (headers.psn + 100'000) & 0xffffff; });
}

std::size_t ip_at(const Record& record) {
  return record.bytes[12] == 0x81 ? 18 : 14;
}

std::vector<Incident> find_bad_checksum(GroundTruth& truth, Dice& dice) {
  Incident incident = of_flow(truth, 0, "a wrong IPv4 checksum");
  const std::vector<std::size_t> packet = any_packet(truth, dice, is_any, incident);
  for (std::size_t i : packet) {
    std::uint8_t* const ip = &truth.capture.byte(i, ip_at(truth.capture.records[i]));
    if (*ip >> 4 != 4) return {};  // IPv6 has none
    ip[10] ^= 0x5a;
  }
  incident.shows.push_back({{all_ports(truth, incident.a, incident.b)}, {"integrity.ip-checksum"}, true});
  return packet.empty() ? std::vector<Incident>() : std::vector<Incident>{incident};
}

// From some packet on all of the first flow are changed: what a reroute, a NAT or a reconfiguration does.
std::vector<Incident> changed_from(GroundTruth& truth, Dice& dice, const std::string& what, Kinds right,
                                   void (*change)(wire::RoceHeaders&)) {
  Incident incident = of_flow(truth, 0, what);
  std::vector<std::size_t> sent;
  for (std::size_t i = 0; i < truth.seen.size(); ++i)
    if (truth.seen[i].is_data() && is_of_way(truth.seen[i], incident.a, incident.b) &&
        truth.path_of(truth.seen[i]).front() == truth.port_of(truth.seen[i]))
      sent.push_back(i);
  if (sent.size() < 60) return {};
  const Sighting from =
      truth.seen[sent[static_cast<std::size_t>(dice.pick(20, static_cast<std::int64_t>(sent.size()) - 20))]];
  for (std::size_t i = 0; i < truth.seen.size(); ++i)
    if (truth.seen[i].is_roce && truth.seen[i].way() == from.way() && psn_diff(truth.seen[i].psn, from.psn) >= 0)
      truth.capture.rewrite(i, change);
  const std::int64_t at_ns = from.time_ns;
  incident.shows.push_back(
      {{all_ports(truth, incident.a, incident.b)},
       std::move(right),
       true,
       [at_ns, way = std::make_tuple(from.src, from.dst, from.dest_qp)](const std::vector<const Sighting*>& kept) {
         std::int64_t before = 0, behind = 0;
         for (const Sighting* each : kept)
           if (each->is_data() && std::make_tuple(each->src, each->dst, each->dest_qp) == way)
             ++(each->time_ns < at_ns ? before : behind);
         return before >= 15 && behind >= 15;
       }});
  return {incident};
}
std::vector<Incident> find_p_key(GroundTruth& truth, Dice& dice) {
  return changed_from(truth, dice, "a P_Key that changes", {"integrity.p-key"},
                      [](wire::RoceHeaders& headers) { headers.p_key = 0x8001; });
}
std::vector<Incident> find_ttl(GroundTruth& truth, Dice& dice) {
  return changed_from(truth, dice, "a TTL that changes: another path", {"path-entropy.moved"},
                      [](wire::RoceHeaders& headers) { headers.ttl = static_cast<std::uint8_t>(headers.ttl - 2); });
}
std::vector<Incident> find_source_port(GroundTruth& truth, Dice& dice) {
  return changed_from(truth, dice, "a UDP source port that changes", {"path-entropy.moved"},
                      [](wire::RoceHeaders& headers) { headers.src_port ^= 0x155; });
}

// --- The capture itself -------------------------------------------------------------------------------------------

std::vector<Incident> find_nothing(GroundTruth&, Dice&) {
  return {};
}

}  // namespace

const std::vector<Family>& fault_families() {
  const std::vector<std::string> data = {"write", "send", "write-imm", "send-imm"};
  const std::vector<std::string> requests = {"write", "send", "write-imm", "send-imm", "read", "fetch-add"};
  const std::vector<std::string> classes = {"roce-lossless", "class"};
  const std::vector<std::string> slow = {"cx4-lx-25g", "cx5-25g", "cx6-25g"};
  const TrafficWish marked = {.verbs = {"write", "send"},
                              .packets = 3500,
                              .most_packets = 4500,
                              .models = slow,
                              .profiles = {"class", "roce-lossless"},
                              .most_flows = 2};
  TrafficWish senders = marked;
  senders.shapes = {kSwitch};
  senders.least_hosts = 4;
  senders.packets = 1200;
  senders.most_packets = 6000;
  senders.incast = true;
  TrafficWish paused = {.verbs = {"write", "send"},
                        .packets = 2500,
                        .most_packets = 4000,
                        .shapes = {kSwitch},
                        .models = {"cx4-lx-25g", "cx5-25g"},
                        .most_flows = 1};
  TrafficWish incast = {.verbs = {"write"},
                        .packets = 1200,
                        .most_packets = 6000,
                        .shapes = {kSwitch},
                        .models = {"cx4-lx-25g", "cx5-25g"},
                        .least_hosts = 5,
                        .incast = true};
  static const std::vector<Family> families = {
      {"one request lost", 30, plant_one_lost, find_losses, {.verbs = requests, .packets = 20}},
      {"some requests lost", 25, plant_some_lost, find_losses, {.verbs = requests, .packets = 30}},
      {"random loss", 40, plant_random_loss, find_losses, {.verbs = requests, .packets = 300}},
      {"READ responses lost", 25, plant_response_lost, find_losses, {.verbs = {"read"}, .packets = 20}},
      {"ACK lost", 15, plant_ack_lost, find_losses, {.verbs = requests, .packets = 10}},
      {"tail lost", 15, plant_tail_lost, find_losses, {.verbs = requests, .packets = 10}},
      {"link outage", 25, plant_outage, find_outage, {.verbs = requests, .packets = 300}},
      {"link down for good", 10, plant_link_down, find_outage, {.verbs = requests, .packets = 300}},
      {"bit errors", 15, plant_corruption, find_losses, {.verbs = data, .packets = 100}},
      {"MTU black hole",
       10,
       plant_small_mtu,
       find_small_mtu,
       {.packets = 10, .shapes = {kSwitch, kLeafSpine}, .most_flows = 1}},
      {"late packets", 40, plant_late, find_late, {.verbs = {"write", "send", "read"}, .packets = 60}},
      {"duplicated packets", 15, plant_duplicates, find_duplicates, {.verbs = data, .packets = 30}},
      {"no CNPs", 10, plant_few_marks, find_no_cnp, marked, false, true},
      {"no CNPs to one of several senders", 15, plant_marks_at_receiver, find_no_cnp, senders, false, true},
      {"CNPs vanish", 15, plant_few_marks, find_vanished_cnps, marked, false, true},
      {"sender ignores CNPs",
       10,
       plant_deaf_sender,
       find_deaf_sender,
       {.verbs = {"write"},
        .packets = 3500,
        .most_packets = 4500,
        .models = slow,
        .profiles = classes,
        .most_flows = 1},
       false,
       true},
      {"late CNPs", 10, plant_late_cnps, find_late_cnps, marked, false, true},
      {"CNPs without marks",
       8,
       plant_few_marks,
       find_without_marks,
       {.verbs = {"write", "send"},
        .packets = 1500,
        .most_packets = 2000,
        .models = slow,
        .profiles = classes,
        .most_flows = 1},
       true},
      {"CNPs without BECN",
       5,
       plant_few_marks,
       find_bad_cnps,
       {.verbs = data, .packets = 600, .models = slow, .profiles = classes},
       true},
      {"CNPs in the data class", 5, plant_cnp_in_data_class, find_cnp_in_data_class, {.verbs = data, .packets = 600}},
      {"every packet marked",
       8,
       plant_all_marked,
       find_all_marked,
       {.verbs = {"write"},
        .packets = 1500,
        .most_packets = 2500,
        .shapes = {kCable, kSwitch},
        .models = slow,
        .profiles = classes,
        .most_flows = 1},
       false,
       true},
      {"one host with DSCP 0",
       12,
       plant_wrong_dscp,
       find_wrong_dscp,
       {.verbs = data, .packets = 80, .profiles = {"roce-lossless", "roce-lossy", "class"}}},
      {"one host without ECT",
       12,
       plant_not_ect,
       find_not_ect,
       {.verbs = data, .packets = 80, .profiles = {"roce-lossless", "roce-lossy", "class"}}},
      {"DSCP rewritten on the way",
       10,
       nullptr,
       find_rewritten,
       {.verbs = data, .packets = 60, .most_packets = 500, .profiles = classes},
       true},
      {"DSCP mixed",
       8,
       nullptr,
       find_mixed,
       {.verbs = data, .packets = 60, .most_packets = 500, .profiles = classes},
       true},
      {"pause storm", 12, plant_storm, find_storm, paused, false, true},
      {"slow receiver", 12, plant_slow_receiver, find_much_paused, paused, false, true},
      {"incast with PFC alone", 12, plant_pfc_incast, find_much_paused, incast, false, true},
      {"802.3x pauses", 8, plant_global_pause, find_global_pause, incast, false, true},
      {"host ignores pauses", 8, plant_deaf_to_pauses, find_deaf_to_pauses, incast, false, true},
      {"refused by the remote end", 12, plant_refused, find_refused, {.verbs = {"write", "read"}, .packets = 1}},
      {"late receives",
       12,
       plant_late_receives,
       find_not_ready,
       {.verbs = {"send", "write-imm", "send-imm"}, .packets = 5}},
      {"no receives", 10, plant_no_receives, find_not_ready, {.verbs = {"send", "write-imm"}, .packets = 5}},
      {"dead peer", 12, plant_dead_peer, find_dead_peer, {.verbs = {"write", "send", "read"}, .packets = 1}},
      {"timeout below the round trip",
       8,
       plant_short_timeout,
       find_short_timeout,
       {.verbs = {"write", "send"}, .packets = 3, .shapes = {kCable}, .models = {"e810-100g"}}},
      {"MigReq differs",
       8,
       plant_migreq,
       find_migreq,
       {.verbs = data, .packets = 60, .models = {"cx5-100g", "cx6-200g", "e810-100g"}, .most_flows = 1}},
      {"message without LAST",
       6,
       nullptr,
       find_no_last,
       {.verbs = {"write", "send"}, .packets = 60, .most_packets = 500},
       true},
      {"wrong RETH", 6, nullptr, find_wrong_reth, {.verbs = {"write"}, .packets = 60, .most_packets = 500}, true},
      {"verb changes in a message",
       6,
       nullptr,
       find_changed_verb,
       {.verbs = {"write", "send"}, .packets = 60, .most_packets = 500},
       true},
      {"wrong MSN", 6, nullptr, find_wrong_msn, {.verbs = data, .packets = 60, .most_packets = 500}, true},
      {"ACK of what was not sent",
       6,
       nullptr,
       find_unsent_ack,
       {.verbs = data, .packets = 60, .most_packets = 500},
       true},
      {"wrong IPv4 checksum", 6, nullptr, find_bad_checksum, {.verbs = data, .packets = 60, .most_packets = 500}, true},
      {"P_Key changes", 6, nullptr, find_p_key, {.verbs = data, .packets = 100, .most_packets = 500}, true},
      {"TTL changes", 6, nullptr, find_ttl, {.verbs = data, .packets = 100, .most_packets = 500}, true},
      {"source port changes", 6, nullptr, find_source_port, {.verbs = data, .packets = 100, .most_packets = 500}, true},
      {"frames not captured",
       25,
       nullptr,
       find_nothing,
       {.verbs = {"write", "send", "read"}, .packets = 100},
       false,
       false,
       CaptureFault::kLost},
      {"stamps step back", 10, nullptr, find_nothing, {.packets = 50}, false, false, CaptureFault::kStepsBack},
      {"file cut", 6, nullptr, find_nothing, {.packets = 20}, false, false, CaptureFault::kCutFile},
  };
  return families;
}

}  // namespace weft::planted
