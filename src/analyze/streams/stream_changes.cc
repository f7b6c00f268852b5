#include "analyze/streams/stream_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyze/classes/traffic_class.h"

namespace weft::analyze {
namespace {

std::string mac_words(std::uint64_t mac) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac >> 40 & 0xff, mac >> 32 & 0xff, mac >> 24 & 0xff,
                     mac >> 16 & 0xff, mac >> 8 & 0xff, mac & 0xff);
}

// As hosts set it: no router has had the packet.
bool is_initial_ttl(std::uint8_t ttl) {
  return ttl == 64 || ttl == 128 || ttl == 255;
}

Evidence begin_of(const Reading& reading, StreamId id, std::string text) {
  const Stream& stream = reading.streams[id];
  return {stream.first_frame, stream.first_ns, stream.point, std::move(text)};
}

}  // namespace

void StreamChanges::begin(const Frame& frame, Kept& kept) {
  kept.src_mac = frame.src_mac;
  kept.p_key = frame.p_key;
  kept.src_port = frame.src_port;
  kept.ttl = frame.ttl;
  kept.is_request = frame.is_request();
}

void StreamChanges::note(What what, std::uint64_t from, std::uint64_t to, const Frame& frame, StreamId id) {
  for (Change& each : changes_)
    if (each.stream == id && each.what == what) {
      ++each.times;
      return;
    }
  if (changes_.size() < kMostChanges) changes_.push_back({id, what, 1, frame.number, frame.time_ns, from, to});
}

void StreamChanges::change(const Frame& frame, Kept& kept, StreamId id) {
  if (frame.p_key != kept.p_key) note(kPKey, kept.p_key, frame.p_key, frame, id);
  if (frame.ttl != kept.ttl) note(kTtl, kept.ttl, frame.ttl, frame, id);
  if (frame.src_mac != kept.src_mac) note(kMac, kept.src_mac, frame.src_mac, frame, id);
  kept.p_key = frame.p_key;
  kept.ttl = frame.ttl;
  kept.src_mac = frame.src_mac;
  // Answers may be sent from another port than requests.
  if (frame.src_port == kept.src_port || frame.is_request() != kept.is_request) return;
  note(kSourcePort, kept.src_port, frame.src_port, frame, id);
  kept.src_port = frame.src_port;
}

// A way that was changed now and then, as against packets that are sprayed, and copies of one packet.
bool StreamChanges::is_lasting(const Change& change) const {
  constexpr std::uint32_t kFewestBetween = 16, kMostTimes = 4;
  return change.times <= kMostTimes && change.times * kFewestBetween <= all_[change.stream].frames;
}

std::uint32_t StreamChanges::times_of(StreamId id, What what) const {
  const auto found = std::find_if(changes_.begin(), changes_.end(),
                                  [&](const Change& each) { return each.stream == id && each.what == what; });
  return found == changes_.end() ? 0 : found->times;
}

// Both ends of a connection are in one partition: the low 15 bits are the same (IBTA vol 1, 10.9.3).
void StreamChanges::find_keys(Findings& findings, const Reading& reading) const {
  const FirstPoints firsts(reading);
  const auto add = [&](StreamId id, std::string what, std::uint64_t count, std::vector<Evidence> evidence) {
    findings.add({"integrity.p-key",
                  place_of(reading, id),
                  std::move(what),
                  "a P_Key that was changed under a running connection (subnet manager, VLAN to P_Key mapping), or "
                  "bytes that changed on the way: a receiver drops what is not in its partition",
                  count,
                  std::move(evidence),
                  {{"host", fmt::format("on {} and {}: cat /sys/class/infiniband/DEVICE/ports/1/pkeys/*; pkey_index of "
                                        "the queue pair",
                                        reading.addresses.text(reading.streams[id].src),
                                        reading.addresses.text(reading.streams[id].dst))}}});
  };
  std::size_t told = 0;
  for (const Change& each : changes_) {
    if (each.what != kPKey || !firsts.is_first(each.stream) || told++ >= kMostOfKind) continue;
    add(each.stream,
        fmt::format("the P_Key changes within the queue pair, {}: from 0x{:04x} to 0x{:04x} first",
                    counted(each.times, "time"), each.from, each.to),
        each.times,
        {begin_of(reading, each.stream, fmt::format("P_Key 0x{:04x}", each.from)),
         {each.frame, each.time_ns, reading.streams[each.stream].point, fmt::format("P_Key 0x{:04x}", each.to)}});
  }
  for (StreamId id = 0; id < all_.size(); ++id) {
    const StreamId other = reading.streams[id].reverse;
    if (other == kNone || other < id || other >= all_.size() || !firsts.is_first(id)) continue;
    if (all_[id].frames == 0 || all_[other].frames == 0 || times_of(id, kPKey) + times_of(other, kPKey) > 0) continue;
    if (((all_[id].p_key ^ all_[other].p_key) & 0x7fff) == 0 || told++ >= kMostOfKind) continue;
    add(id, fmt::format("one direction has P_Key 0x{:04x}, the other 0x{:04x}", all_[id].p_key, all_[other].p_key),
        all_[id].frames,
        {begin_of(reading, id, fmt::format("P_Key 0x{:04x}", all_[id].p_key)),
         begin_of(reading, other, fmt::format("P_Key 0x{:04x}", all_[other].p_key))});
  }
}

void StreamChanges::find_ways(Findings& findings, const Reading& reading) const {
  std::map<StreamId, std::vector<const Change*>> moved;
  for (const Change& each : changes_)
    if (each.what != kPKey && is_lasting(each) && reading.streams[each.stream].dst_qp > 1)
      moved[each.stream].push_back(&each);
  std::size_t told = 0;
  for (const auto& [id, all] : moved) {
    if (told++ == kMostOfKind) break;
    std::string what;
    std::vector<Evidence> evidence;
    std::uint64_t times = 0;
    for (const Change* each : all) {
      std::string text;
      if (each->what == kTtl) text = fmt::format("the TTL goes from {} to {}", each->from, each->to);
      if (each->what == kSourcePort) text = fmt::format("the UDP source port from {} to {}", each->from, each->to);
      if (each->what == kMac)
        text = fmt::format("the source MAC address from {} to {}", mac_words(each->from), mac_words(each->to));
      what += (what.empty() ? "" : ", ") + text;
      times = std::max<std::uint64_t>(times, each->times);
      if (evidence.empty() || evidence.back().frame != each->frame)
        evidence.push_back({each->frame, each->time_ns, reading.streams[id].point, text});
    }
    findings.add(
        {"path-entropy.moved",
         place_of(reading, id),
         fmt::format("{} while it runs{}", what, times > 1 ? fmt::format(" ({} times)", times) : ""),
         "another way through the network: a route or next hop that changed, a link of a LAG or ECMP group that "
         "went down or came up, or a sender that picks another source port; packets may overtake each other "
         "when it happens",
         times,
         std::move(evidence),
         {{"switch", fmt::format("show ip route {}; show interfaces counters of the members before and after; "
                                 "show logging",
                                 reading.addresses.text(reading.streams[id].dst))}}});
  }
}

// Two devices that send with one IP address. Copies of one packet before and behind a router have another TTL, too.
void StreamChanges::find_macs(Findings& findings, const Reading& reading) const {
  std::map<std::pair<PointId, AddressId>, std::map<std::uint64_t, StreamId>> senders;
  for (StreamId id = 0; id < all_.size(); ++id)
    if (all_[id].frames > 0 && all_[id].src_mac != 0 && is_initial_ttl(all_[id].ttl))
      senders[{reading.streams[id].point, reading.streams[id].src}].try_emplace(all_[id].src_mac, id);
  std::set<AddressId> told;
  const auto add = [&](AddressId address, std::uint64_t one, std::uint64_t other, std::uint64_t count,
                       std::vector<Evidence> evidence) {
    if (!told.insert(address).second || told.size() > kMostOfKind) return;
    findings.add({"path-entropy.two-macs",
                  reading.addresses.text(address),
                  fmt::format("packets of this address come from {} and from {}", mac_words(one), mac_words(other)),
                  "two hosts have the same address, or a bond sends with the address of each link (balance-alb): "
                  "answers go to whichever was learnt last",
                  count,
                  std::move(evidence),
                  {{"host", fmt::format("arping -D -I IFACE {}; ip neigh show {}; cat /proc/net/bonding/*",
                                        reading.addresses.text(address), reading.addresses.text(address))},
                   {"switch", "show mac address-table: the two ports; show arp"}}});
  };
  for (const Change& each : changes_) {
    if (each.what != kMac || is_lasting(each) || each.times < 3) continue;
    if (times_of(each.stream, kTtl) * 2 >= each.times) continue;
    const Stream& stream = reading.streams[each.stream];
    add(stream.src, each.from, each.to, each.times,
        {begin_of(reading, each.stream, mac_words(each.from)),
         {each.frame, each.time_ns, stream.point, mac_words(each.to)}});
  }
  for (const auto& [key, macs] : senders) {
    if (macs.size() < 2) continue;
    const auto& [one, first] = *macs.begin();
    const auto& [other, second] = *std::next(macs.begin());
    if (times_of(first, kMac) + times_of(second, kMac) > 0) continue;  // a way that changed, or told above
    add(key.second, one, other, macs.size(),
        {begin_of(reading, first, mac_words(one)), begin_of(reading, second, mac_words(other))});
  }
}

void StreamChanges::finish(Findings& findings, const Reading& reading) {
  all_.resize(reading.streams.size());
  find_keys(findings, reading);
  find_ways(findings, reading);
  find_macs(findings, reading);
}

}  // namespace weft::analyze
