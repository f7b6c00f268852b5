// Check 19: MigReq of the two ends of a connection.
#include <fmt/format.h>

#include <map>
#include <set>

#include "analyze/classes/traffic_class.h"
#include "analyze/paths/entropy.h"

namespace weft::analyze {

void check_migreq(Findings& findings, const Reading& reading) {
  const FirstPoints firsts(reading);
  std::uint64_t looked_at = 0, clear = 0;
  StreamId first_clear = kNone;
  struct Mix {
    std::uint64_t connections = 0;
    StreamId set = kNone, clear = kNone;
  };
  std::map<std::pair<AddressId, AddressId>, Mix> mixes;  // address that sets it, address that does not
  constexpr std::uint8_t kBoth = StreamMarks::kMigReqSet | StreamMarks::kMigReqClear;
  for (StreamId id = 0; id < reading.marks.size(); ++id) {
    const std::uint8_t own = reading.marks[id].flags & kBoth;
    if (own == 0 || !firsts.is_first(id) || reading.streams[id].dst_qp <= 1) continue;
    ++looked_at;
    const StreamId reverse = reading.streams[id].reverse;
    const std::uint8_t other =
        reverse == kNone || reverse >= reading.marks.size() ? 0 : reading.marks[reverse].flags & kBoth;
    if (own == StreamMarks::kMigReqSet && other == StreamMarks::kMigReqClear) {
      Mix& mix = mixes[{reading.streams[id].src, reading.streams[id].dst}];
      if (mix.connections++ == 0) {
        mix.set = id;
        mix.clear = reverse;
      }
    } else if (own == StreamMarks::kMigReqClear && other != StreamMarks::kMigReqSet) {
      if (clear++ == 0) first_clear = id;
    }
  }
  auto evidence = [&](StreamId id, std::string text) {
    const Stream& stream = reading.streams[id];
    return Evidence{stream.first_frame, stream.first_ns, stream.point, std::move(text)};
  };
  for (const auto& [ends, mix] : mixes)
    findings.add({"migreq.mix",
                  fmt::format("{} > {}", reading.addresses.text(ends.first), reading.addresses.text(ends.second)),
                  fmt::format("on {} connection{} {} sets MigReq and {} does not", mix.connections,
                              mix.connections == 1 ? "" : "s", reading.addresses.text(ends.first),
                              reading.addresses.text(ends.second)),
                  "NICs of two makes: a ConnectX-5 was measured to handle packets with MigReq 0 on a slow path, and to "
                  "drop them when 16 queue pairs send at once",
                  mix.connections,
                  {evidence(mix.set, "MigReq 1"), evidence(mix.clear, "MigReq 0")},
                  {{"NIC", "update the firmware of both; ethtool -S IFACE | grep -E 'rx_discards_phy|out_of_buffer'"},
                   {"host", "use NICs of one make for one job, or fewer queue pairs between them"}}});
  if (clear > 0)
    findings.add({"migreq.clear",
                  "the capture",
                  counted(clear, "stream") + " with MigReq 0",
                  "legal: path migration is not armed",
                  clear,
                  {evidence(first_clear, "MigReq 0")}});
  findings.judge("migreq", looked_at, "streams", "no RoCE stream");
}

}  // namespace weft::analyze
