#include "analyze/random_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "interop/interop_support.h"
#include "support/bytes.h"
#include "wire/erspan.h"

namespace weft::planted {
namespace {

constexpr std::int64_t kEpoch_ns = 1'700'000'000'000'000'000;

const char* name_of(View::Kind kind) {
  const char* names[] = {"one port", "two ports", "all ports", "a file for each host", "two mirror ports", "ERSPAN"};
  return names[static_cast<int>(kind)];
}

// Each power of ten between 1 us and an hour is as likely as the next.
std::int64_t draw_offset_ns(Dice& dice) {
  const double exponent = 3.0 + static_cast<double>(dice.pick(0, 9556)) / 1000.0;
  const auto offset_ns = static_cast<std::int64_t>(std::pow(10.0, exponent));
  return dice.chance(50) ? offset_ns : -offset_ns;
}

std::vector<std::string> switch_ports(const GroundTruth& truth) {
  std::vector<std::string> ports;
  for (const Interface& each : truth.capture.interfaces)
    if (!each.name.starts_with("h")) ports.push_back(each.name);
  return ports;
}

template <class T>
const T& any_of(const std::vector<T>& from, Dice& dice) {
  return from[static_cast<std::size_t>(dice.pick(0, static_cast<std::int64_t>(from.size()) - 1))];
}

bool is_shown(const View& view, const std::string& port) {
  return std::find(view.ports.begin(), view.ports.end(), port) != view.ports.end();
}

void draw_ports(const GroundTruth& truth, View& view, Dice& dice) {
  const Draft& draft = truth.draft;
  const DraftFlow& flow = draft.flows[static_cast<std::size_t>(
      dice.chance(75) ? 0 : dice.pick(0, static_cast<std::int64_t>(draft.flows.size()) - 1))];
  const std::string client = draft.hosts[flow.client].port(), server = draft.hosts[flow.server].port();
  switch (view.kind) {
    case View::Kind::kOnePort:
      if (draft.shape != Draft::Shape::kCable && dice.chance(30))
        view.ports = {any_of(switch_ports(truth), dice)};
      else
        view.ports = {dice.chance(50) ? client : server};
      break;
    case View::Kind::kTwoPorts:
    case View::Kind::kFilePerHost:
      view.ports = {client, server};
      if (view.kind == View::Kind::kFilePerHost && draft.hosts.size() > 2 && dice.chance(40)) {
        for (const DraftHost& each : draft.hosts)
          if (!is_shown(view, each.port())) {
            view.ports.push_back(each.port());
            break;
          }
      }
      if (dice.chance(50)) std::swap(view.ports[0], view.ports[1]);
      break;
    case View::Kind::kMirrorPorts:
    case View::Kind::kErspan:
      view.ports = {draft.hops(flow.client, flow.server).back(), draft.hops(flow.server, flow.client).back()};
      if (dice.chance(50)) std::swap(view.ports[0], view.ports[1]);
      break;
    case View::Kind::kAllPorts:
      for (const Interface& each : truth.capture.interfaces) view.ports.push_back(each.name);
  }
}

}  // namespace

std::string View::text() const {
  std::string out =
      fmt::format("{}: {}; {} to {} us", name_of(kind), fmt::join(ports, ", "), from_ns / 1000, to_ns / 1000);
  if (snap_B != 0) out += fmt::format("; snap length {}", snap_B);
  if (lost_ppm != 0) out += fmt::format("; {:.2f} % not captured", static_cast<double>(lost_ppm) / 1e4);
  for (std::size_t i = 0; i < clock_ns.size(); ++i)
    out += fmt::format("; clock {:+} ns {:+} ppb", clock_ns[i], drift_ppb[i]);
  if (late_ppm != 0)
    out += fmt::format("; {:.1f} % of stamps late by up to {} ns{}", static_cast<double>(late_ppm) / 1e4, late_ns,
                       sorted ? ", sorted" : "");
  if (as_pcap) out += "; pcap";
  return out;
}

View draw_view(const GroundTruth& truth, const Family* family, bool impaired, std::uint32_t snap_B, Dice& dice) {
  using enum View::Kind;
  View view;
  const bool has_switch = truth.draft.shape != Draft::Shape::kCable;
  view.kind = dice.one_of({kOnePort, kOnePort, kTwoPorts, kAllPorts, kFilePerHost, kMirrorPorts, kErspan});
  if (!has_switch && (view.kind == kMirrorPorts || view.kind == kErspan)) view.kind = kTwoPorts;
  if (!impaired && (view.kind == kFilePerHost || view.kind == kMirrorPorts || view.kind == kErspan))
    view.kind = kTwoPorts;
  view.fault = family == nullptr ? CaptureFault::kNone : family->capture;
  const int what = static_cast<int>(dice.pick(0, 3));  // of what may be wrong with the capture
  if (impaired && what == 1) view.kind = kFilePerHost;
  if (impaired && what == 2 && has_switch) view.kind = dice.chance(50) ? kMirrorPorts : kErspan;
  if (view.fault != CaptureFault::kNone && view.kind == kErspan) view.kind = kOnePort;
  draw_ports(truth, view, dice);
  view.to_ns = truth.end_ns() + 1;
  if (dice.chance(40)) {
    const std::int64_t span_ns = truth.end_ns();
    view.from_ns = dice.chance(60) ? dice.pick(0, span_ns / 2) : 0;
    if (view.from_ns == 0 || dice.chance(50)) view.to_ns = dice.pick(view.from_ns + span_ns / 5, span_ns);
  }
  view.snap_B = snap_B;
  const std::size_t files = view.kind == kFilePerHost ? view.ports.size() : 1;
  for (std::size_t i = 0; i < files; ++i) {
    view.clock_ns.push_back(view.kind == kFilePerHost ? draw_offset_ns(dice) : 0);
    view.drift_ppb.push_back(view.kind == kFilePerHost && dice.chance(60) ? dice.pick(-20'000, 20'000) : 0);
  }
  if (impaired && (what == 0 || dice.chance(25)))
    view.lost_ppm = dice.chance(30) ? dice.pick(200, 2'000) : dice.pick(2'000, 20'000);
  if (view.fault == CaptureFault::kLost) view.lost_ppm = dice.pick(3'000, 50'000);
  if (impaired && what == 3) {
    view.late_ppm = dice.pick(2'000, 30'000);
    view.late_ns = dice.pick(300, 5'000);
    view.sorted = dice.chance(40);
  }
  if (view.kind == kMirrorPorts || (view.kind == kOnePort && dice.chance(35)))
    view.as_pcap = !view.sorted && dice.chance(70);
  return view;
}

CutCapture cut_capture(const GroundTruth& truth, const View& view, const std::string& directory, Dice& dice) {
  CutCapture cut;
  cut.kept.resize(truth.capture.interfaces.size());
  cut.removed.resize(truth.capture.interfaces.size());
  const bool is_merged = view.kind == View::Kind::kMirrorPorts || view.kind == View::Kind::kErspan;
  const std::size_t files = view.clock_ns.size();
  std::vector<bool> is_kept(truth.seen.size(), false);
  for (std::size_t f = 0; f < files; ++f) {
    EditableCapture out;
    std::vector<std::uint32_t> interface_of(truth.capture.interfaces.size(), UINT32_MAX), source_of;
    for (std::size_t i = 0; i < truth.capture.interfaces.size(); ++i) {
      const std::string& name = truth.capture.interfaces[i].name;
      const bool in_file = files == 1 ? is_shown(view, name) : view.ports[f] == name;
      if (!in_file) continue;
      interface_of[i] = is_merged ? 0 : static_cast<std::uint32_t>(out.interfaces.size());
      if (!is_merged || out.interfaces.empty())
        out.interfaces.push_back(is_merged ? Interface{"eth0", 0} : truth.capture.interfaces[i]);
    }
    std::uint32_t sequence[2] = {1000, 77};
    for (std::size_t i = 0; i < truth.seen.size(); ++i) {
      const Sighting& each = truth.seen[i];
      if (interface_of[each.interface] == UINT32_MAX || each.time_ns < view.from_ns || each.time_ns >= view.to_ns)
        continue;
      if (is_merged && each.is_pause) continue;  // mirror sessions do not copy them
      const std::uint32_t source = view.kind == View::Kind::kErspan && truth.port_of(each) == view.ports[1] ? 1 : 0;
      if (view.lost_ppm != 0 && dice.pick(0, 999'999) < view.lost_ppm) {
        cut.removed[each.interface].push_back(each.time_ns);
        ++cut.lost;
        ++sequence[source];
        continue;
      }
      is_kept[i] = true;
      Record record = truth.capture.records[i];
      record.interface = interface_of[each.interface];
      if (is_merged) record.outbound = false;
      record.time_ns =
          kEpoch_ns + each.time_ns + view.clock_ns[f] +
          static_cast<std::int64_t>(static_cast<double>(each.time_ns) * static_cast<double>(view.drift_ppb[f]) / 1e9);
      if (view.late_ppm != 0 && dice.pick(0, 999'999) < view.late_ppm) {
        record.time_ns += dice.pick(100, view.late_ns);
        ++cut.disordered;
      }
      if (view.snap_B != 0 && record.bytes.size() > view.snap_B) {
        if (record.original_B == 0) record.original_B = record.bytes.size();
        record.bytes.resize(view.snap_B);
      }
      if (view.kind == View::Kind::kErspan) {
        wire::ErspanTunnel tunnel;
        tunnel.src_mac = {0x02, 0, 0, 0, 1, static_cast<std::uint8_t>(source)};
        tunnel.dst_mac = {0x02, 0, 0, 0, 2, 0};
        tunnel.src_ip = {192, 0, 2, static_cast<std::uint8_t>(10 + source)};
        tunnel.dst_ip = {192, 0, 2, 1};
        wire::Erspan header;
        header.session = 5;
        header.sequence = sequence[source]++;
        const std::size_t whole_B = record.original_B, inner_B = record.bytes.size();
        record.bytes = wire::build_erspan_frame(tunnel, header, record.bytes);
        if (whole_B != 0) record.original_B = whole_B + record.bytes.size() - inner_B;
      }
      cut.kept[each.interface].push_back(&each);
      out.records.push_back(std::move(record));
    }
    if (view.sorted) out.sort_by_time();
    if (view.fault == CaptureFault::kStepsBack && out.records.size() > 4) {
      const auto at = static_cast<std::size_t>(dice.pick(2, static_cast<std::int64_t>(out.records.size()) - 2));
      const std::int64_t step_ns = dice.pick(5'000, 500'000);
      for (std::size_t i = at; i < out.records.size(); ++i) out.records[i].time_ns -= step_ns;
      cut.disordered += 1;
    }
    const std::string path = fmt::format("{}/{}.{}", directory, files == 1 ? "capture" : fmt::format("host{}", f),
                                         view.as_pcap ? "pcap" : "pcapng");
    view.as_pcap ? out.write_pcap(path) : out.write(path);
    if (view.fault == CaptureFault::kCutFile)
      std::filesystem::resize_file(path,
                                   std::filesystem::file_size(path) - static_cast<std::uintmax_t>(dice.pick(3, 40)));
    cut.files.push_back(path);
  }
  // Data that was not captured, between neighbours of its way that were, and acknowledged in front of the same port.
  for (std::uint32_t port = 0; port < truth.capture.interfaces.size() && view.lost_ppm != 0 && !cut.shows_loss;
       ++port) {
    std::vector<std::size_t> here;
    for (std::size_t i = 0; i < truth.seen.size(); ++i)
      if (truth.seen[i].interface == port && truth.seen[i].is_roce && truth.seen[i].time_ns >= view.from_ns &&
          truth.seen[i].time_ns < view.to_ns && is_shown(view, truth.port_of(truth.seen[i])))
        here.push_back(i);
    for (std::size_t n = 0; n < here.size() && !cut.shows_loss; ++n) {
      const Sighting& lost = truth.seen[here[n]];
      if (is_kept[here[n]] || !lost.is_data() || !lost.is_request()) continue;
      bool before = false, behind = false, answered = false;
      for (std::size_t m = 0; m < here.size(); ++m) {
        if (!is_kept[here[m]]) continue;
        const Sighting& each = truth.seen[here[m]];
        if (each.way() == lost.way()) (m < n ? before : behind) = true;
        if (m > n && each.is_ack() && each.src == lost.dst && each.dst == lost.src &&
            ((each.psn - lost.psn) & 0xffffff) < 0x1000 && each.syndrome < 0x20)
          answered = true;
      }
      cut.shows_loss = before && behind && answered;
    }
  }
  return cut;
}

Expected expect(const GroundTruth& truth, const View& view, const CutCapture& cut,
                const std::vector<Incident>& incidents) {
  Expected expected;
  if (cut.lost != 0) expected.tolerated.insert("capture.lost");
  if (cut.disordered != 0) expected.tolerated.insert("capture.order");
  if (view.fault == CaptureFault::kLost) {
    expected.surely = cut.shows_loss;
    expected.right = {"capture.lost"};
  }
  if (view.fault == CaptureFault::kStepsBack) {
    expected.surely = true;
    expected.right = {"capture.order"};
  }
  if (view.fault == CaptureFault::kCutFile) {
    expected.surely = true;
    expected.right = {"capture.cut"};
  }
  for (const std::string& kind : expected.right) expected.tolerated.erase(kind);
  std::vector<std::vector<const Sighting*>> had_at(truth.capture.interfaces.size());
  for (const Sighting& each : truth.seen) had_at[each.interface].push_back(&each);
  // Those of an incident among the frames of a port, which are in order of time.
  const auto of_incident = [](const Incident& incident, const std::vector<const Sighting*>& frames) {
    std::vector<const Sighting*> of;
    auto at = std::lower_bound(frames.begin(), frames.end(), incident.begin_ns,
                               [](const Sighting* each, std::int64_t time_ns) { return each->time_ns < time_ns; });
    for (; at != frames.end() && (*at)->time_ns <= incident.end_ns; ++at)
      if (incident.counts_pauses ? (*at)->is_pause : (*at)->is_between(incident.a, incident.b)) of.push_back(*at);
    return of;
  };
  // Frames of an incident that one port shows: those that are kept, and how many the run had.
  const auto frames_at = [&](const Incident& incident, const std::string& port, std::vector<const Sighting*>& kept,
                             bool& had_before) {
    std::size_t had = 0;
    for (std::size_t i = 0; i < truth.capture.interfaces.size(); ++i) {
      if (truth.capture.interfaces[i].name != port) continue;
      kept = of_incident(incident, cut.kept[i]);
      had = of_incident(incident, had_at[i]).size();
      for (const Sighting* each : cut.kept[i]) {
        if (each->time_ns >= incident.begin_ns || had_before) break;
        had_before = each->is_between(incident.a, incident.b);
      }
    }
    return had;
  };
  for (const Incident& incident : incidents) {
    bool surely = false;
    for (const Evidence& evidence : incident.shows) {
      bool seen = true, all = true;
      for (const std::vector<std::string>& group : evidence.ports) {
        bool group_seen = false, group_all = false;
        for (const std::string& port : group) {
          if (!is_shown(view, port)) continue;
          std::vector<const Sighting*> kept;
          bool had_before = false;
          const std::size_t had = frames_at(incident, port, kept, had_before);
          if (kept.empty() && !evidence.enough) continue;
          group_seen |= !kept.empty();
          group_all |= evidence.enough ? evidence.enough(kept) : (had_before && kept.size() == had);
        }
        seen = seen && group_seen;
        all = all && group_all;
      }
      if (!seen) continue;
      if (!surely) expected.right.insert(evidence.right.begin(), evidence.right.end());
      if (!(evidence.surely && all)) continue;
      if (!surely) expected.why.push_back(fmt::format("{}: {}", incident.what, fmt::join(evidence.right, " or ")));
      surely = true;
      // Two ends tell more than one; where the capture has no names they are not told apart.
      if (view.has_directions()) break;
      if (evidence.ports.size() == 2) break;
    }
    expected.surely |= surely;
  }
  return expected;
}

}  // namespace weft::planted
