#include "analyze/random_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "labfile/reader.h"
#include "observe/capture.h"
#include "pcap/pcap_reader.h"
#include "wire/bytes.h"
#include "wire/opcode.h"
#include "world/runner.h"

namespace weft::planted {
namespace {

// Captures of runs begin here (2026-01-01): times of the run count from it.
constexpr std::int64_t kRunBegins_ns = observe::Capture::kEpoch_ns;

Mark mark_of(std::string_view comment) {
  const auto has = [comment](std::string_view text) { return comment.find(text) != std::string_view::npos; };
  if (has("link down")) return Mark::kLinkDown;
  if (has("dropped") || has("lost")) return Mark::kDropped;
  if (has("corrupted")) return Mark::kCorrupted;
  if (has("delayed")) return Mark::kDelayed;
  if (has("duplicated")) return Mark::kDuplicated;
  if (has("marked")) return Mark::kCeMarked;
  return Mark::kNone;
}

}  // namespace

bool Sighting::is_request() const {
  return is_roce && opcode != 0x81 && wire::is_request(static_cast<wire::Opcode>(opcode));
}
bool Sighting::is_data() const {
  return is_roce && opcode != 0x81 && wire::has_payload(static_cast<wire::Opcode>(opcode));
}
bool Sighting::is_response() const {
  return is_roce && opcode >= 0x0d && opcode <= 0x12 && opcode != 0x11;
}

Sighting look_at(const Record& record) {
  Sighting each;
  each.time_ns = record.time_ns;
  each.interface = record.interface;
  each.outbound = record.outbound;
  const wire::Bytes bytes(record.bytes);
  std::size_t at = 12;
  if (bytes.size() < 18) return each;
  if (wire::be16(bytes, at) == 0x8100) at += 4;
  const std::uint16_t type = wire::be16(bytes, at);
  at += 2;
  each.is_pause = type == 0x8808;
  std::uint8_t tos = 0;
  if (type == 0x0800 && bytes.size() >= at + 20 + 8 + 12 && bytes[at + 9] == 17) {
    tos = bytes[at + 1];
    each.src = wire::ipv4_mapped(bytes[at + 12], bytes[at + 13], bytes[at + 14], bytes[at + 15]);
    each.dst = wire::ipv4_mapped(bytes[at + 16], bytes[at + 17], bytes[at + 18], bytes[at + 19]);
    at += 20;
  } else if (type == 0x86dd && bytes.size() >= at + 40 + 8 + 12 && bytes[at + 6] == 17) {
    tos = static_cast<std::uint8_t>(wire::be16(bytes, at) >> 4);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at) + 8, 16, each.src.begin());
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at) + 24, 16, each.dst.begin());
    at += 40;
  } else {
    return each;
  }
  if (wire::be16(bytes, at + 2) != 4791) return each;
  at += 8;
  each.is_roce = true;
  each.is_ce = (tos & 3) == 3;
  each.is_ect = (tos & 3) != 0;
  each.opcode = bytes[at];
  each.dest_qp = wire::be24(bytes, at + 5);
  each.psn = wire::be24(bytes, at + 9);
  if (each.is_ack() && bytes.size() > at + 12) each.syndrome = bytes[at + 12];
  return each;
}

wire::IpAddress GroundTruth::address(std::size_t host) const {
  const int leaf = draft.hosts[host].leaf;
  if (draft.v4) return wire::ipv4_mapped(10, 0, static_cast<std::uint8_t>(leaf), static_cast<std::uint8_t>(host + 1));
  wire::IpAddress address{0xfd};
  address[3] = static_cast<std::uint8_t>(leaf);
  address[15] = static_cast<std::uint8_t>(host + 1);
  return address;
}

std::vector<std::string> GroundTruth::path_of(const Sighting& each) const {
  const auto path = paths.find({each.src, each.dst, each.dest_qp});
  return path == paths.end() ? std::vector<std::string>() : path->second;
}

std::size_t GroundTruth::next_of(std::size_t record, const std::string& port) const {
  const Sighting& first = seen[record];
  for (std::size_t i = record + 1; i < seen.size(); ++i) {
    if (seen[i].is_roce && seen[i].psn == first.psn && seen[i].way() == first.way() &&
        seen[i].is_ack() == first.is_ack() && port_of(seen[i]) == port)
      return i;
  }
  return kNoRecord;
}

void GroundTruth::look_again() {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    Sighting now = look_at(capture.records[i]);
    now.mark = seen[i].mark;
    now.is_retransmission = seen[i].is_retransmission;
    seen[i] = now;
  }
}

tl::expected<GroundTruth, std::string> run_draft(const Draft& draft, std::uint64_t seed, std::uint32_t snap_B,
                                                 const std::string& directory) {
  GroundTruth truth;
  truth.draft = draft;
  truth.lab_text = draft.text(seed);
  auto lab = lab::read_lab(truth.lab_text, "lab.yaml");
  if (!lab) return tl::unexpected(lab.error().front().message);
  lab::SessionOptions options;
  for (const lab::LinkConfig& link : lab->links) {
    options.capture_ports.push_back(link.a);
    options.capture_ports.push_back(link.b);
  }
  options.capture_path = directory + "/all.pcapng";
  options.capture.snaplen_B = snap_B;
  auto result = lab::run_lab(*lab, options);
  if (!result) return tl::unexpected(result.error());
  truth.result = std::move(*result);
  std::vector<std::uint8_t> bytes(std::filesystem::file_size(options.capture_path));
  std::ifstream(options.capture_path, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto file = pcap::read_capture(bytes);
  if (!file) return tl::unexpected(std::string(file.error().message));
  for (const pcap::CaptureInterface& each : file->interfaces)
    truth.capture.interfaces.push_back({std::string(each.name), each.speed_bps});
  for (const pcap::CapturedPacket& each : file->packets) {
    truth.capture.records.push_back({each.time_ns - kRunBegins_ns,
                                     each.interface,
                                     each.outbound.value_or(false),
                                     {each.bytes.begin(), each.bytes.end()},
                                     each.original_B == each.bytes.size() ? 0 : each.original_B});
    Sighting sighting = look_at(truth.capture.records.back());
    sighting.mark = mark_of(each.comment);
    sighting.is_retransmission = each.comment.find("retransmission") != std::string_view::npos;
    truth.seen.push_back(sighting);
    if (!sighting.is_roce) continue;
    std::vector<std::string>& path = truth.paths[{sighting.src, sighting.dst, sighting.dest_qp}];
    const std::string& port = truth.port_of(sighting);
    if (std::find(path.begin(), path.end(), port) == path.end()) path.push_back(port);
  }
  return truth;
}

}  // namespace weft::planted
