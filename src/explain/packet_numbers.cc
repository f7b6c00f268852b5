#include "explain/packet_numbers.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <span>

#include "base/files.h"
#include "pcap/pcap_reader.h"
#include "wire/flow.h"
#include "wire/opcode.h"
#include "wire/pfc.h"

namespace weft::explain {
namespace {

using lab::ChainStep;

constexpr std::size_t kMostCapture_B = std::size_t{2} << 30;
constexpr std::int64_t kEpoch_ns = 1'767'225'600'000'000'000;  // of Weft's captures: 2026-01-01T00:00:00Z
constexpr std::uint8_t kCe = 3;

struct Bth {
  std::uint8_t tos;
  wire::Opcode opcode;
  std::uint32_t dest_qp, psn;
};

// Of a frame that the capture may have cut behind its headers.
std::optional<Bth> bth_of(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kVlan_B = 4, kUdp_B = 8, kBth_B = 12;
  std::size_t at = 14;
  const auto word = [&](std::size_t place) { return static_cast<unsigned>(bytes[place] << 8 | bytes[place + 1]); };
  if (bytes.size() < at + kVlan_B) return std::nullopt;
  if (word(12) == 0x8100) at += kVlan_B;
  const unsigned type = word(at - 2);
  const std::size_t ip_B = type == 0x0800 ? 20 : 40;
  if ((type != 0x0800 && type != 0x86dd) || bytes.size() < at + ip_B + kUdp_B + kBth_B) return std::nullopt;
  if (word(at + ip_B + 2) != wire::kRoceUdpPort) return std::nullopt;
  const auto tos = type == 0x0800 ? bytes[at + 1] : static_cast<std::uint8_t>(word(at) >> 4);
  const std::size_t bth = at + ip_B + kUdp_B;
  return Bth{tos, static_cast<wire::Opcode>(bytes[bth]),
             static_cast<std::uint32_t>(bytes[bth + 5] << 16 | word(bth + 6)),
             static_cast<std::uint32_t>(bytes[bth + 9] << 16 | word(bth + 10))};
}

// What a frame has to be for a step.
bool fits(const ChainStep& step, std::span<const std::uint8_t> bytes) {
  if (step.what == "pause" || step.what == "pause_upstream") {
    if (const auto pfc = wire::PfcView::parse(bytes)) {
      for (std::size_t c = 0; c < 8; ++c) {
        if (pfc->is_enabled(c) && pfc->quanta(c) > 0) return true;
      }
      return false;
    }
    constexpr std::size_t kType = 12, kMacControl = 0x8808;
    return bytes.size() > kType + 1 && (bytes[kType] << 8 | bytes[kType + 1]) == kMacControl;
  }
  const auto headers = bth_of(bytes);
  if (!headers) return false;
  if (step.what == "cnp" || step.what == "rate_cut") return headers->opcode == wire::Opcode::kCnp;
  if (step.what == "recovery") return headers->psn == step.psn && headers->opcode != wire::Opcode::kAck;
  if (step.what == "ce_mark")
    return (headers->tos & 3) == kCe && headers->psn == step.psn && headers->dest_qp == step.qpn;
  if (step.what == "drop") return headers->psn == step.psn && headers->dest_qp == step.qpn;
  return false;
}

class PacketFinder {
 public:
  PacketFinder(const pcap::CaptureFile& file, const lab::Evidence& evidence) : file_(file) {
    for (std::size_t i = 0; i < file.interfaces.size(); ++i)
      interfaces_.emplace(std::string(file.interfaces[i].name), i);
    for (const lab::LinkEvidence& link : evidence.links) peers_.emplace(link.from, link.to);
  }

  void find(ChainStep& step) const {
    const std::string& port = step.what == "rate_cut" ? step.where : step.port;
    if (port.empty()) return;
    const std::int64_t at_ns = kEpoch_ns + step.time_ps / 1000;
    // Losses and CNPs come before what follows from them.
    const bool before = step.what == "rate_cut" || step.what == "drop";
    const bool inbound = step.what == "rate_cut";
    if (step.what == "drop") {
      step.packet = last_before(step, at_ns);
    } else if (const auto known = interfaces_.find(port); known != interfaces_.end()) {
      step.packet = nearest(step, known->second, !inbound, before, at_ns);
    } else if (const auto peer = peers_.find(port); peer != peers_.end()) {
      const auto other = interfaces_.find(peer->second);
      if (other != interfaces_.end()) step.packet = nearest(step, other->second, inbound, before, at_ns);
    }
  }

 private:
  std::optional<std::uint64_t> nearest(const ChainStep& step, std::size_t interface, bool outbound, bool before,
                                       std::int64_t at_ns) const {
    std::optional<std::uint64_t> found;
    for (std::size_t i = 0; i < file_.packets.size(); ++i) {
      const pcap::CapturedPacket& packet = file_.packets[i];
      if (before ? packet.time_ns > at_ns : packet.time_ns + 1 < at_ns) {
        if (before) break;
        continue;
      }
      if (packet.interface != interface || packet.outbound.value_or(outbound) != outbound || !fits(step, packet.bytes))
        continue;
      found = i + 1;
      if (!before) break;
    }
    return found;
  }
  // The last time that it was seen anywhere.
  std::optional<std::uint64_t> last_before(const ChainStep& step, std::int64_t at_ns) const {
    std::optional<std::uint64_t> found;
    for (std::size_t i = 0; i < file_.packets.size() && file_.packets[i].time_ns <= at_ns; ++i) {
      if (fits(step, file_.packets[i].bytes)) found = i + 1;
    }
    return found;
  }

  const pcap::CaptureFile& file_;
  std::map<std::string, std::size_t> interfaces_;
  std::map<std::string, std::string> peers_;
};

}  // namespace

void find_packets(const std::string& directory, const lab::Evidence& evidence, lab::Explanation& explanation) {
  const std::string path = directory + "/capture.pcapng";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    if (std::filesystem::is_regular_file(directory + "/capture_00001.pcapng", ignored))
      explanation.notes.emplace_back("the capture has several files: packets are not looked up");
    return;
  }
  const auto bytes = read_file(path, kMostCapture_B);
  if (!bytes) {
    explanation.notes.push_back(fmt::format("packets are not looked up: {}: {}", path, bytes.error()));
    return;
  }
  const auto file = pcap::read_capture({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
  if (!file) {
    explanation.notes.push_back(
        fmt::format("packets are not looked up: {}, byte {}: {}", path, file.error().offset_B, file.error().message));
    return;
  }
  const PacketFinder finder(*file, evidence);
  for (lab::Incident& incident : explanation.incidents) {
    for (ChainStep& step : incident.steps) finder.find(step);
  }
}

}  // namespace weft::explain
