// Base Transport Header (IBTA vol 1, 9.2; FECN and BECN as in Annex A17):
//   opcode 8 | SE 1, MigReq 1, PadCnt 2, TVer 4 | P_Key 16 |
//   FECN 1, BECN 1, reserved 6 | DestQP 24 | AckReq 1, reserved 7 | PSN 24
#pragma once

#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>

#include "wire/bytes.h"
#include "wire/opcode.h"
#include "wire/wire_error.h"

namespace weft::wire {

struct Bth {
  Opcode opcode = Opcode::kSendOnly;
  bool solicited = false;
  bool mig_req = false;
  std::uint8_t pad_B = 0;  // 0..3
  std::uint16_t p_key = 0xffff;
  bool fecn = false;
  bool becn = false;
  std::uint8_t reserved6 = 0;
  std::uint32_t dest_qp = 0;  // 24 bits
  bool ack_req = false;
  std::uint8_t reserved7 = 0;
  std::uint32_t psn = 0;  // 24 bits

  friend bool operator==(const Bth&, const Bth&) = default;
};

class BthView {
 public:
  static constexpr std::size_t kSize_B = kBthSize_B;

  // Checks the length, TVer 0, and an opcode that opcode.h lists.
  static tl::expected<BthView, WireError> parse(Bytes bytes);

  Opcode opcode() const { return static_cast<Opcode>(bytes_[0]); }
  bool solicited() const { return (bytes_[1] & 0x80) != 0; }
  bool mig_req() const { return (bytes_[1] & 0x40) != 0; }
  std::uint8_t pad_B() const { return bytes_[1] >> 4 & 3; }
  std::uint16_t p_key() const { return be16(bytes_, 2); }
  bool fecn() const { return (bytes_[4] & 0x80) != 0; }
  bool becn() const { return (bytes_[4] & 0x40) != 0; }
  std::uint8_t reserved6() const { return bytes_[4] & 0x3f; }
  std::uint32_t dest_qp() const { return be24(bytes_, 5); }
  bool ack_req() const { return (bytes_[8] & 0x80) != 0; }
  std::uint8_t reserved7() const { return bytes_[8] & 0x7f; }
  std::uint32_t psn() const { return be24(bytes_, 9); }
  Bth header() const {
    return {opcode(), solicited(), mig_req(), pad_B(),   p_key(),     fecn(),
            becn(),   reserved6(), dest_qp(), ack_req(), reserved7(), psn()};
  }

 private:
  explicit BthView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

// Writes kBthSize_B bytes; fields wider than their place are cut to it.
void write_bth(const Bth& bth, MutableBytes out);

}  // namespace weft::wire
