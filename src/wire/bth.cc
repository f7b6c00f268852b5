#include "wire/bth.h"

namespace weft::wire {

tl::expected<BthView, WireError> BthView::parse(Bytes bytes) {
  if (bytes.size() < kSize_B) return tl::unexpected(WireError::kTruncated);
  if ((bytes[1] & 0x0f) != 0) return tl::unexpected(WireError::kBadTransportVersion);
  if (!is_valid_opcode(bytes[0])) return tl::unexpected(WireError::kUnknownOpcode);
  return BthView(bytes.first(kSize_B));
}

void write_bth(const Bth& bth, MutableBytes out) {
  out[0] = static_cast<std::uint8_t>(bth.opcode);
  out[1] = static_cast<std::uint8_t>((bth.solicited ? 0x80 : 0) | (bth.mig_req ? 0x40 : 0) | (bth.pad_B & 3) << 4);
  put_be16(out, 2, bth.p_key);
  out[4] = static_cast<std::uint8_t>((bth.fecn ? 0x80 : 0) | (bth.becn ? 0x40 : 0) | (bth.reserved6 & 0x3f));
  put_be24(out, 5, bth.dest_qp);
  out[8] = static_cast<std::uint8_t>((bth.ack_req ? 0x80 : 0) | (bth.reserved7 & 0x7f));
  put_be24(out, 9, bth.psn);
}

}  // namespace weft::wire
