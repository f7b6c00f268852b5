#include "analyze/uet_frames.h"

#include <algorithm>
#include <array>

#include "wire/bytes.h"

namespace weft::planted {
namespace {

constexpr std::int64_t kEpoch_ns = 1'767'225'600'000'000'000;
constexpr std::uint16_t kUetPort = 4793;
constexpr std::uint16_t kInitiatorPdc = 0x0101, kTargetPdc = 0x0202;
enum PdsType : std::uint16_t { kRudRequest = 2, kAck = 7, kAckCc = 8, kNack = 10 };

std::uint32_t crc32c(wire::Bytes bytes) {
  std::uint32_t crc = 0xffffffff;
  for (std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

void put(std::vector<std::uint8_t>& out, std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) out.push_back(static_cast<std::uint8_t>(value >> shift));
}

void set_ip_checksum(std::vector<std::uint8_t>& bytes) {
  bytes[kIpAt + 10] = bytes[kIpAt + 11] = 0;
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 20; i += 2) sum += std::uint32_t{bytes[kIpAt + i]} << 8 | bytes[kIpAt + i + 1];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  wire::put_be16(bytes, kIpAt + 10, static_cast<std::uint16_t>(~sum));
}

std::vector<std::uint8_t> prologue(PdsType type, int next, std::uint8_t flags) {
  std::vector<std::uint8_t> pds;
  put(pds, static_cast<std::uint64_t>(type << 11 | next << 7 | flags), 2);
  return pds;
}

}  // namespace

UetConversation::UetConversation(EditableCapture& capture) : capture_(capture) {
  capture_.interfaces = {{"target:p0", 100'000'000'000}};
}

void UetConversation::request(std::int64_t at_ns, std::uint32_t psn, std::uint8_t flags) {
  std::vector<std::uint8_t> pds = prologue(kRudRequest, 3, flags);
  put(pds, 0, 2);
  put(pds, psn, 4);
  put(pds, kInitiatorPdc, 2);
  put(pds, kTargetPdc, 2);
  std::vector<std::uint8_t> ses(44);
  ses[0] = 1;  // WRITE
  pds.insert(pds.end(), ses.begin(), ses.end());
  pds.resize(pds.size() + 1024, static_cast<std::uint8_t>(psn));
  add(at_ns, true, pds);
}

void UetConversation::trimmed(std::int64_t at_ns, std::uint32_t psn, bool rewrites_ip_length) {
  constexpr std::size_t kLeft_B = 64;
  constexpr std::uint8_t kDscpTrimmed = 48;
  request(at_ns, psn);
  const auto here = std::find_if(capture_.records.rbegin(), capture_.records.rend(),
                                 [&](const Record& each) { return each.time_ns == kEpoch_ns + at_ns; });
  std::vector<std::uint8_t>& bytes = here->bytes;
  bytes.resize(kBthAt + kLeft_B);
  bytes[kIpAt + 1] = kDscpTrimmed << 2;
  if (rewrites_ip_length) wire::put_be16(bytes, kIpAt + 2, static_cast<std::uint16_t>(bytes.size() - kIpAt));
  set_ip_checksum(bytes);
}

void UetConversation::ack(std::int64_t at_ns, std::uint32_t cumulative_psn) {
  std::vector<std::uint8_t> pds = prologue(kAck, 0, 0);
  put(pds, 0, 2);
  put(pds, cumulative_psn, 4);
  put(pds, kTargetPdc, 2);
  put(pds, kInitiatorPdc, 2);
  add(at_ns, false, pds);
}

void UetConversation::sack(std::int64_t at_ns, std::uint32_t cumulative_psn, std::int16_t offset,
                           std::uint64_t bitmap) {
  std::vector<std::uint8_t> pds = prologue(kAckCc, 0, 0);
  put(pds, 0, 2);
  put(pds, cumulative_psn, 4);
  put(pds, kTargetPdc, 2);
  put(pds, kInitiatorPdc, 2);
  put(pds, 0, 1);    // CC type and flags
  put(pds, 128, 1);  // MPR
  put(pds, static_cast<std::uint16_t>(offset), 2);
  put(pds, bitmap, 8);
  put(pds, 0, 8);  // CC state
  add(at_ns, false, pds);
}

void UetConversation::nack(std::int64_t at_ns, std::uint32_t psn, std::uint8_t code) {
  std::vector<std::uint8_t> pds = prologue(kNack, 0, 0);
  put(pds, code, 1);
  put(pds, 0, 1);
  put(pds, psn, 4);
  put(pds, kTargetPdc, 2);
  put(pds, kInitiatorPdc, 2);
  put(pds, psn, 4);
  add(at_ns, false, pds);
}

void UetConversation::add(std::int64_t at_ns, bool to_target, const std::vector<std::uint8_t>& pds) {
  const std::array<std::uint8_t, 6> initiator{2, 0, 0, 0, 0, 1}, target{2, 0, 0, 0, 0, 2};
  const std::uint32_t initiator_ip = 0x0a000001, target_ip = 0x0a000002;
  Record record{kEpoch_ns + at_ns, 0, !to_target, {}, 0};
  std::vector<std::uint8_t>& bytes = record.bytes;
  const auto& dst = to_target ? target : initiator;
  const auto& src = to_target ? initiator : target;
  bytes.insert(bytes.end(), dst.begin(), dst.end());
  bytes.insert(bytes.end(), src.begin(), src.end());
  put(bytes, 0x0800, 2);
  const std::size_t udp_B = 8 + pds.size() + 4;
  put(bytes, 0x456a, 2);  // DSCP 26, ECT(0)
  put(bytes, 20 + udp_B, 2);
  put(bytes, 0x00004000, 4);
  put(bytes, 0x4011, 2);
  put(bytes, 0, 2);
  put(bytes, to_target ? initiator_ip : target_ip, 4);
  put(bytes, to_target ? target_ip : initiator_ip, 4);
  set_ip_checksum(bytes);
  put(bytes, 0x8001, 2);  // entropy
  put(bytes, kUetPort, 2);
  put(bytes, udp_B, 2);
  put(bytes, 0, 2);
  bytes.insert(bytes.end(), pds.begin(), pds.end());
  put(bytes, crc32c(wire::Bytes(bytes).subspan(kIpAt + 12)), 4);
  capture_.insert(std::move(record));
}

}  // namespace weft::planted
