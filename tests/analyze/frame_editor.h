// A capture in memory whose frames can be changed: faults that a lab cannot produce are put in here. What is rewritten
// has correct lengths, checksums and ICRC again, so that nothing but the planted fault is wrong. Comments of the run
// are not kept: whoever reads the capture has the packets alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "wire/roce_frame.h"

namespace weft::planted {

struct Record {
  std::int64_t time_ns = 0;
  std::uint32_t interface = 0;
  bool outbound = false;
  std::vector<std::uint8_t> bytes;
  std::size_t original_B = 0;  // 0: all of it is in bytes
};

struct Interface {
  std::string name;
  std::uint64_t speed_bps = 0;
};

using Payload = std::vector<std::uint8_t>;
using Wanted = std::function<bool(const wire::RoceFrame&)>;

class EditableCapture {
 public:
  static EditableCapture read(const std::string& path);
  void write(const std::string& path) const;
  // As pcap with nanoseconds: without interfaces and directions.
  void write_pcap(const std::string& path) const;

  std::vector<Interface> interfaces;
  std::vector<Record> records;

  // Indices of the records that are such RoCE frames.
  std::vector<std::size_t> find(const Wanted& wanted) const;
  // The n-th of them, from 0. A test fails when there is none.
  std::size_t find_nth(const Wanted& wanted, std::size_t n = 0) const;

  wire::RoceFrame frame(std::size_t record) const;
  // Changes headers, or headers and payload, and builds the frame again.
  void rewrite(std::size_t record, const std::function<void(wire::RoceHeaders&)>& change);
  void rewrite_all(std::size_t record, const std::function<void(wire::RoceHeaders&, Payload&)>& change);
  // Changes bytes as they are; nothing is computed again until refresh().
  std::uint8_t& byte(std::size_t record, std::size_t offset) { return records[record].bytes[offset]; }
  // IPv4 checksum and ICRC of an untagged IPv4 frame, over the bytes as they are.
  void refresh(std::size_t record);

  void erase(std::size_t record);
  // A copy that is seen `later_ns` after the original, in its place in time.
  void insert_copy(std::size_t record, std::int64_t later_ns);
  void insert(Record record);
  // Every record from this one on is later by so much.
  void delay_from(std::size_t record, std::int64_t by_ns);
  void sort_by_time();
  // As a mirror session of a bridge shows it, at the port of whoever captures: each frame as it came and, so much
  // later, as it left.
  void mirror_twice(std::int64_t later_ns);
  // As a capture with a snap length shows the frames.
  void cut_frames(std::size_t snap_B);
};

// Frames by what they are; without the transport (UC, XRC) that they belong to.
Wanted is_opcode(wire::Opcode opcode);
bool is_nak(const wire::RoceFrame& frame);
bool is_positive_ack(const wire::RoceFrame& frame);
bool is_data_request(const wire::RoceFrame& frame);

// Offsets in an untagged IPv4 frame.
inline constexpr std::size_t kIpAt = 14, kUdpAt = 34, kBthAt = 42;

}  // namespace weft::planted
