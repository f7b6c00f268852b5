// The part that RoCEv1 and RoCEv2 share: BTH, extension headers, payload, pad. Only the frame
// builders and parsers include this.
#pragma once

#include <cstddef>
#include <tl/expected.hpp>

#include "wire/roce_frame.h"

namespace weft::wire::detail {

// From the BTH to the ICRC, which is included.
std::size_t transport_size_B(const RoceHeaders& headers, std::size_t payload_B);

// Writes BTH to pad, not the ICRC. `out` holds transport_size_B bytes.
void write_transport(const RoceHeaders& headers, Bytes payload, MutableBytes out);

// `packet` runs from the BTH to the last byte of the ICRC. Fills all of `frame` that comes from
// there, except icrc_ok.
tl::expected<void, WireError> parse_transport(Bytes packet, RoceFrame& frame);

}  // namespace weft::wire::detail
