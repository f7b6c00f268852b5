#include "serve/packets/event_packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "analyze/frames/decode.h"
#include "observe/capture.h"
#include "serve/packets/capture_book.h"
#include "store/rows/run_rows.h"
#include "store/table.h"
#include "wire/aeth_syndrome.h"

namespace weft::serve {

namespace {

constexpr std::uint32_t kAnywhere = UINT32_MAX;
// Between an event and a frame that is known by its kind and queue pair alone. The reaction point may wait some us
// before it cuts the rate; a NIC or a switch sends at once what it has to send.
constexpr std::int64_t kNear_ns = 20'000;
constexpr std::int64_t kWhenever_ns = INT64_MAX / 2;

// The key by which a frame and an event match. Fields that do not matter for the kind are 0.
struct FrameKey {
  EventFrameKind kind = EventFrameKind::kNone;
  bool outbound = false;
  std::uint32_t interface = 0;  // by name; kAnywhere
  std::uint32_t host = 0;       // that it goes to
  std::uint32_t qp = 0, psn = 0;
  friend bool operator==(const FrameKey&, const FrameKey&) = default;
};
struct HashOfKey {
  std::size_t operator()(const FrameKey& key) const {
    std::uint64_t hash = std::uint64_t{key.interface} << 32 | key.host;
    for (const std::uint64_t part : {std::uint64_t{key.qp} << 32 | key.psn,
                                     std::uint64_t{static_cast<std::uint8_t>(key.kind)} << 1 | (key.outbound ? 1 : 0)})
      hash = (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15ULL + part;
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};

bool is_known_by_psn(EventFrameKind kind) {
  return kind == EventFrameKind::kMarked || kind == EventFrameKind::kRequest || kind == EventFrameKind::kLost;
}

class EventFrameFinder {
 public:
  EventFrameFinder(const std::vector<RunEvent>& events, const std::unordered_map<std::string, std::string>& addresses) {
    for (const RunEvent& event : events) {
      if (event.frame.kind == EventFrameKind::kNone || waiting_ == EventPackets::kMostEvents) continue;
      add(event, addresses);
    }
  }

  void see(const pcap::CapturedPacket& packet, const pcap::CaptureInterface& interface) {
    ++number_;
    // A capture may contain any time.
    time_ns_ = std::clamp(packet.time_ns, std::int64_t{0}, kWhenever_ns) - observe::Capture::kEpoch_ns;
    const auto place = names_.find(std::string(interface.name));
    interface_ = place == names_.end() ? kAnywhere : place->second;
    if (!packet.comment.empty()) see_comment(packet.comment);
    analyze::decode(interface.link_type, packet.bytes, packet.original_B, {false}, addresses_, frame_);
    const bool out = packet.outbound.value_or(true);
    if (frame_.kind == analyze::FrameKind::kPfc) {
      for (std::uint32_t c = 0; c < 8; ++c) {
        if ((frame_.class_enable >> c & 1) != 0 && frame_.quanta[c] != 0)
          meet({EventFrameKind::kPause, out, interface_, 0, c, 0});
      }
    } else if (frame_.kind == analyze::FrameKind::kPause && frame_.quanta[0] != 0) {
      for (std::uint32_t c = 0; c < 8; ++c) meet({EventFrameKind::kPause, out, interface_, 0, c, 0});
    } else if (frame_.kind == analyze::FrameKind::kRoce) {
      see_roce(out);
    }
  }

  std::unordered_map<std::string, std::uint64_t> found() {
    std::unordered_map<std::string, std::uint64_t> numbers;
    for (auto& [key, list] : lists_) {
      const Waiting* before = nullptr;
      for (Waiting& each : list.waiting) {
        // No frame between two events: both follow from the same frame.
        if (each.number == 0 && before != nullptr && before->number != 0 && comes_before_event(key.kind) &&
            each.time_ns - before->seen_ns <= reach_ns(key.kind)) {
          each.number = before->number;
          each.seen_ns = before->seen_ns;
        }
        if (each.number != 0 && each.at_port) numbers.insert_or_assign(each.id, each.number);
        if (each.number != 0) numbers.try_emplace(each.id, each.number);
        before = &each;
      }
    }
    return numbers;
  }

 private:
  struct Waiting {
    std::int64_t time_ns = 0;  // rounded down, as times in a capture
    std::string id;
    bool at_port = true;  // and not at the other end of its cable
    std::uint64_t number = 0;
    std::int64_t seen_ns = 0;
  };
  struct List {
    std::vector<Waiting> waiting;  // in order of time
    std::size_t next = 0;          // the first that may match a later frame
  };

  static std::int64_t reach_ns(EventFrameKind kind) {
    return is_known_by_psn(kind) || kind == EventFrameKind::kFault ? kWhenever_ns : kNear_ns;
  }

  std::uint32_t number_of_name(const std::string& name) {
    return names_.try_emplace(name, static_cast<std::uint32_t>(names_.size())).first->second;
  }

  void add(const RunEvent& event, const std::unordered_map<std::string, std::string>& addresses) {
    const EventFrame& frame = event.frame;
    FrameKey key{frame.kind, true, kAnywhere, 0, frame.qp, is_known_by_psn(frame.kind) ? frame.psn : 0};
    if (is_known_by_psn(frame.kind) || frame.kind == EventFrameKind::kCnp) {
      const auto address = addresses.find(frame.destination);
      if (address == addresses.end()) return;
      key.host = hosts_.try_emplace(address->second, static_cast<std::uint32_t>(hosts_.size()) + 1).first->second;
    }
    ++waiting_;
    const auto wait_for = [&](const FrameKey& wanted, bool at_port = true) {
      lists_[wanted].waiting.push_back({event.time_ps / 1000, event.id, at_port, 0, 0});
    };
    if (frame.kind == EventFrameKind::kLost) return wait_for(key);
    if (frame.kind == EventFrameKind::kFault) {
      key.qp = faults_.try_emplace(frame.fault, static_cast<std::uint32_t>(faults_.size())).first->second;
      return wait_for(key);
    }
    if (frame.kind == EventFrameKind::kPause) key.qp = static_cast<std::uint32_t>(frame.pause_class);
    key.outbound = !comes_before_event(frame.kind);
    key.interface = number_of_name(frame.port);
    wait_for(key);
    // The other end of the cable sees the same frame, in the other direction.
    if (frame.peer.empty()) return;
    key.outbound = !key.outbound;
    key.interface = number_of_name(frame.peer);
    wait_for(key, false);
  }

  void see_roce(bool out) {
    const std::uint32_t host = host_of(frame_.dst), qp = frame_.dest_qp, psn = frame_.psn;
    if (frame_.is_cnp()) {
      meet({EventFrameKind::kCnp, out, interface_, host, qp, 0});
      meet({EventFrameKind::kCnpIn, out, interface_, 0, qp, 0});
      return;
    }
    if (frame_.has_aeth) {
      const wire::AethKind answer = wire::aeth_kind(frame_.syndrome);
      if (answer == wire::AethKind::kNak) meet({EventFrameKind::kNakIn, out, interface_, 0, qp, 0});
      if (answer == wire::AethKind::kRnrNak) meet({EventFrameKind::kRnrIn, out, interface_, 0, qp, 0});
    }
    if (host == 0) return;
    if (frame_.ce()) meet({EventFrameKind::kMarked, out, interface_, host, qp, psn});
    if (frame_.is_request()) meet({EventFrameKind::kRequest, out, interface_, host, qp, psn});
    meet({EventFrameKind::kLost, true, kAnywhere, host, qp, psn});
  }

  // "weft: dropped by fault NAME; weft: …": what the link wrapper writes.
  void see_comment(std::string_view comment) {
    static constexpr std::string_view kBy = " by fault ";
    for (std::size_t at = comment.find(kBy); at != comment.npos; at = comment.find(kBy, at)) {
      at += kBy.size();
      const std::size_t end = std::min(comment.find("; weft: ", at), comment.size());
      const auto name = faults_.find(std::string(comment.substr(at, end - at)));
      if (name != faults_.end()) meet({EventFrameKind::kFault, true, kAnywhere, 0, name->second, 0});
    }
  }

  void meet(const FrameKey& key) {
    const auto found = lists_.find(key);
    if (found == lists_.end()) return;
    List& list = found->second;
    auto& waiting = list.waiting;
    if (comes_before_event(key.kind)) {
      while (list.next < waiting.size() && waiting[list.next].time_ns < time_ns_) ++list.next;
      if (list.next == waiting.size() || waiting[list.next].time_ns - time_ns_ > reach_ns(key.kind)) return;
      waiting[list.next].number = number_;
      waiting[list.next].seen_ns = time_ns_;
      return;
    }
    for (; list.next < waiting.size() && waiting[list.next].time_ns <= time_ns_; ++list.next) {
      if (time_ns_ - waiting[list.next].time_ns <= reach_ns(key.kind)) waiting[list.next].number = number_;
    }
  }

  // 0: not a host that an event names.
  std::uint32_t host_of(analyze::AddressId id) {
    if (id == analyze::kNone) return 0;
    if (id >= host_of_address_.size()) host_of_address_.resize(id + 1, kAnywhere);
    std::uint32_t& host = host_of_address_[id];
    if (host == kAnywhere) {
      const auto at = hosts_.find(addresses_.text(id));
      host = at == hosts_.end() ? 0 : at->second;
    }
    return host;
  }

  std::size_t waiting_ = 0;
  std::unordered_map<FrameKey, List, HashOfKey> lists_;
  std::unordered_map<std::string, std::uint32_t> names_, hosts_, faults_;
  std::vector<std::uint32_t> host_of_address_;  // by id
  analyze::Addresses addresses_;
  analyze::Frame frame_;
  // The current frame.
  std::uint64_t number_ = 0;
  std::int64_t time_ns_ = 0;
  std::uint32_t interface_ = 0;
};

std::unordered_map<std::string, std::string> addresses_of_hosts(OpenRun& run) {
  std::unordered_map<std::string, std::string> addresses;
  for (const store::PortRow& row : store::Reader<store::PortRow>(run.file())) {
    if (row.address) addresses.try_emplace(row.node + ":" + row.name, *row.address);
  }
  return addresses;
}

std::uint64_t size_of(const std::vector<std::string>& paths) {
  std::uint64_t size_B = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::uint64_t of_file_B = std::filesystem::file_size(path, error);
    if (!error) size_B += of_file_B;
  }
  return size_B;
}

}  // namespace

std::unordered_map<std::string, std::uint64_t> find_event_packets(
    const std::vector<std::string>& captures, const std::vector<RunEvent>& events,
    const std::unordered_map<std::string, std::string>& addresses) {
  EventFrameFinder finder(events, addresses);
  const auto index = pcap::FrameIndex::make(
      captures, [&](const pcap::CapturedPacket& packet, const auto& interface) { finder.see(packet, interface); });
  if (!index) return {};
  return finder.found();
}

void EventPackets::fill(OpenRun& run, std::vector<RunEvent>& events) {
  const std::vector<std::string> captures = capture_files_of(run.directory());
  const std::uint64_t size_B = size_of(captures);
  if (captures.empty() || size_B > kMostCapture_B || events.empty()) return;
  const std::string key =
      fmt::format("{}\npackets of events\n{}\n{}", stamp_of(run.directory()), captures.size(), size_B);
  const std::lock_guard lock(mutex_);
  auto kept = cache_.find(key);
  if (!kept) {
    const RunEvents all = read_events(run, {0, INT64_MAX}, {});
    std::string lines;
    for (const auto& [id, number] : find_event_packets(captures, all.events, addresses_of_hosts(run)))
      lines += fmt::format("{} {}\n", id, number);
    kept = std::make_shared<const std::string>(std::move(lines));
    cache_.keep(key, kept);
  }
  std::unordered_map<std::string_view, std::uint64_t> numbers;
  for (std::size_t at = 0; at < kept->size();) {
    const std::size_t space = kept->find(' ', at), end = kept->find('\n', at);
    std::uint64_t number = 0;
    std::from_chars(kept->data() + space + 1, kept->data() + end, number);
    numbers.emplace(std::string_view(*kept).substr(at, space - at), number);
    at = end + 1;
  }
  for (RunEvent& event : events) {
    if (const auto found = numbers.find(event.id); found != numbers.end()) event.packet = found->second;
  }
}

}  // namespace weft::serve
