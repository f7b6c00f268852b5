// A run of a drawn lab, captured at every port: each frame at each port, and what the run itself says of it in its
// comments (dropped, delayed, retransmitted). What is true of a capture that is cut out of this is judged from here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analyze/frame_editor.h"
#include "analyze/random_traffic.h"
#include "results/run_result.h"
#include "wire/ipv6.h"

namespace weft::planted {

enum class Mark : std::uint8_t { kNone, kDropped, kLinkDown, kCorrupted, kDelayed, kDuplicated, kCeMarked };

// One frame at one port.
struct Sighting {
  std::int64_t time_ns = 0;
  std::uint32_t interface = 0;
  bool outbound = false, is_roce = false, is_pause = false;
  wire::IpAddress src{}, dst{};
  std::uint8_t opcode = 0, syndrome = 0;
  std::uint32_t dest_qp = 0, psn = 0;
  bool is_ce = false, is_ect = false, is_retransmission = false;
  Mark mark = Mark::kNone;

  bool is_request() const;
  bool is_data() const;      // carries payload of messages
  bool is_response() const;  // READ response or atomic answer
  bool is_ack() const { return opcode == 0x11; }
  bool is_nak() const { return is_ack() && syndrome >= 0x60; }
  bool is_rnr_nak() const { return is_ack() && syndrome >= 0x20 && syndrome < 0x40; }
  bool is_cnp() const { return opcode == 0x81; }
  // Packets of one direction of one connection.
  auto way() const { return std::tie(src, dst, dest_qp); }
  bool is_between(const wire::IpAddress& a, const wire::IpAddress& b) const {
    return is_roce && ((src == a && dst == b) || (src == b && dst == a));
  }
};

// Headers of a frame; of what is not RoCE only that it is not.
Sighting look_at(const Record& record);

struct GroundTruth {
  Draft draft;
  std::string lab_text;
  EditableCapture capture;     // all ports
  std::vector<Sighting> seen;  // parallel to its records
  lab::RunResult result;       // its pointers into the lab are not valid any more

  wire::IpAddress address(std::size_t host) const;
  const std::string& port_of(const Sighting& each) const { return capture.interfaces[each.interface].name; }
  // Ports on the way of packets like this one, from its source on.
  std::vector<std::string> path_of(const Sighting& each) const;
  // Index of the next sighting of the same packet (PSN of its way) after this one at a port; kNoRecord: none.
  std::size_t next_of(std::size_t record, const std::string& port) const;
  // Reads the frames anew, after edits that kept the number of records.
  void look_again();
  std::int64_t end_ns() const { return capture.records.empty() ? 0 : capture.records.back().time_ns; }

  // Way of a connection and the ports on it.
  std::map<std::tuple<wire::IpAddress, wire::IpAddress, std::uint32_t>, std::vector<std::string>> paths;
};
inline constexpr std::size_t kNoRecord = SIZE_MAX;

// Runs it in this process. The error says why the lab is not one that runs.
tl::expected<GroundTruth, std::string> run_draft(const Draft& draft, std::uint64_t seed, std::uint32_t snap_B,
                                                 const std::string& directory);

}  // namespace weft::planted
