#include "wire/uet.h"

#include <array>

namespace weft::wire {
namespace {

constexpr std::array<std::uint32_t, 256> make_castagnoli_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kCastagnoliTable = make_castagnoli_table();

std::uint32_t crc32c_update(std::uint32_t state, Bytes bytes) {
  for (const std::uint8_t byte : bytes) state = state >> 8 ^ kCastagnoliTable[(state ^ byte) & 0xff];
  return state;
}

constexpr std::uint8_t kRetransmitted = 0x10, kSyn = 0x04;

}  // namespace

tl::expected<Pds, WireError> parse_pds(Bytes bytes) {
  if (bytes.size() < 2) return tl::unexpected(WireError::kTruncated);
  const std::uint16_t prologue = be16(bytes, 0);
  const auto flags = static_cast<std::uint8_t>(prologue & 0x7f);
  Pds pds;
  pds.type = static_cast<PdsType>(prologue >> 11);
  if (pds.type == PdsType::kTss) return pds;
  if (!pds.is_request() && !pds.is_ack() && !pds.is_nack()) return pds;
  if (bytes.size() < 12) return tl::unexpected(WireError::kTruncated);
  pds.retransmitted = (flags & kRetransmitted) != 0;
  pds.syn = pds.is_request() && (flags & kSyn) != 0;
  pds.psn = be32(bytes, 4);
  pds.source_id = be16(bytes, 8);
  pds.destination_id = be16(bytes, 10);
  if (pds.is_nack()) pds.nack_code = bytes[2];
  if ((pds.type == PdsType::kAckCc || pds.type == PdsType::kAckCcx) && bytes.size() >= 24) {
    pds.sack_psn = pds.psn + static_cast<std::uint32_t>(static_cast<std::int16_t>(be16(bytes, 14)));
    pds.sack_bitmap = be64(bytes, 16);
  }
  return pds;
}

std::uint32_t crc32c(Bytes bytes) {
  return ~crc32c_update(0xffffffff, bytes);
}

std::uint32_t uet_crc(Bytes packet, std::optional<std::size_t> udp_at) {
  const std::size_t addresses_at = packet[0] >> 4 == 4 ? 12 : 8;
  if (!udp_at) return crc32c(packet.subspan(addresses_at));
  const std::size_t checksum_at = *udp_at + 6;
  constexpr std::array<std::uint8_t, 2> kZero{};
  std::uint32_t state = crc32c_update(0xffffffff, packet.subspan(addresses_at, checksum_at - addresses_at));
  state = crc32c_update(state, kZero);
  return ~crc32c_update(state, packet.subspan(checksum_at + 2));
}

}  // namespace weft::wire
