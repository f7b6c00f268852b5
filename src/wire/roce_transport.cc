#include "wire/roce_transport.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "wire/bth.h"
#include "wire/extended_headers.h"
#include "wire/mtu.h"

namespace weft::wire::detail {
namespace {

constexpr std::uint8_t pad_size_B(std::size_t payload_B) {
  return static_cast<std::uint8_t>((4 - payload_B % 4) % 4);
}

// Writes the extension headers in the order of IBTA vol 1, 9.2: DETH or XRCETH, RETH or AtomicETH, AETH,
// AtomicAckETH, ImmDt, IETH.
void write_extensions(const RoceHeaders& headers, MutableBytes out) {
  const Opcode opcode = headers.opcode;
  auto take = [&out](std::size_t size_B) {
    const MutableBytes head = out.first(size_B);
    out = out.subspan(size_B);
    return head;
  };
  if (has_deth(opcode)) write_deth({headers.qkey, headers.deth_reserved, headers.src_qp}, take(kDethSize_B));
  if (has_xrc_eth(opcode)) write_xrc_eth({headers.xrc_eth_reserved, headers.xrc_srq}, take(kXrcEthSize_B));
  if (has_reth(opcode)) write_reth({headers.va, headers.rkey, headers.dma_len}, take(kRethSize_B));
  if (has_atomic_eth(opcode)) {
    write_atomic_eth({headers.va, headers.rkey, headers.swap_add, headers.compare}, take(kAtomicEthSize_B));
  }
  if (has_aeth(opcode)) write_aeth({headers.aeth_syndrome, headers.msn}, take(kAethSize_B));
  if (has_atomic_ack_eth(opcode)) write_atomic_ack_eth({headers.atomic_original}, take(kAtomicAckEthSize_B));
  if (has_imm(opcode)) write_imm_dt({headers.imm}, take(kImmDtSize_B));
  if (has_ieth(opcode)) write_ieth({headers.ieth_rkey}, take(kIethSize_B));
  if (opcode == Opcode::kCnp) {
    std::copy(headers.cnp_reserved.begin(), headers.cnp_reserved.end(), take(kCnpReservedSize_B).begin());
  }
}

// `bytes` begins after the BTH and holds every extension header of the opcode.
void read_extensions(Bytes bytes, RoceHeaders& headers) {
  const Opcode opcode = headers.opcode;
  auto take = [&bytes](auto parse) {
    const auto view = parse(bytes);
    WEFT_CHECK(view.has_value(), "extension headers longer than header_size_B said");
    bytes = bytes.subspan(view->kSize_B);
    return view->header();
  };
  if (has_deth(opcode)) {
    const Deth deth = take(DethView::parse);
    headers.qkey = deth.qkey;
    headers.deth_reserved = deth.reserved;
    headers.src_qp = deth.src_qp;
  }
  if (has_xrc_eth(opcode)) {
    const XrcEth xrc = take(XrcEthView::parse);
    headers.xrc_eth_reserved = xrc.reserved;
    headers.xrc_srq = xrc.srq;
  }
  if (has_reth(opcode)) {
    const Reth reth = take(RethView::parse);
    headers.va = reth.va;
    headers.rkey = reth.rkey;
    headers.dma_len = reth.dma_len;
  }
  if (has_atomic_eth(opcode)) {
    const AtomicEth atomic = take(AtomicEthView::parse);
    headers.va = atomic.va;
    headers.rkey = atomic.rkey;
    headers.swap_add = atomic.swap_add;
    headers.compare = atomic.compare;
  }
  if (has_aeth(opcode)) {
    const Aeth aeth = take(AethView::parse);
    headers.aeth_syndrome = aeth.syndrome;
    headers.msn = aeth.msn;
  }
  if (has_atomic_ack_eth(opcode)) headers.atomic_original = take(AtomicAckEthView::parse).original;
  if (has_imm(opcode)) headers.imm = take(ImmDtView::parse).imm;
  if (has_ieth(opcode)) headers.ieth_rkey = take(IethView::parse).rkey;
  if (opcode == Opcode::kCnp) std::copy_n(bytes.begin(), kCnpReservedSize_B, headers.cnp_reserved.begin());
}

}  // namespace

std::size_t transport_size_B(const RoceHeaders& headers, std::size_t payload_B) {
  return header_size_B(headers.opcode) + payload_B + pad_size_B(payload_B) + kIcrc_B;
}

void write_transport(const RoceHeaders& headers, Bytes payload, MutableBytes out) {
  WEFT_CHECK(is_valid_opcode(static_cast<std::uint8_t>(headers.opcode)), "frame with an opcode that does not exist");
  WEFT_CHECK(payload.empty() || has_payload(headers.opcode), "payload on an opcode that carries none");
  const std::size_t header_B = header_size_B(headers.opcode);
  const std::uint8_t pad_B = pad_size_B(payload.size());
  // The payload first: the caller may have left it at its place in `out`, or near it.
  if (!payload.empty()) std::memmove(&out[header_B], payload.data(), payload.size());
  for (std::size_t i = 0; i < pad_B; ++i) out[header_B + payload.size() + i] = 0;
  const bool is_cnp = headers.opcode == Opcode::kCnp;
  write_bth({.opcode = headers.opcode,
             .solicited = headers.solicited,
             .mig_req = headers.mig_req,
             .pad_B = pad_B,
             .p_key = headers.p_key,
             .fecn = headers.fecn,
             .becn = headers.becn || is_cnp,
             .reserved6 = headers.bth_reserved6,
             .dest_qp = headers.dest_qp,
             .ack_req = headers.ack_req,
             .reserved7 = headers.bth_reserved7,
             .psn = headers.psn},
            out);
  write_extensions(headers, out.subspan(kBthSize_B));
}

tl::expected<void, WireError> parse_transport(Bytes packet, RoceFrame& frame) {
  const auto bth = BthView::parse(packet);
  if (!bth) return tl::unexpected(bth.error());
  const std::size_t header_B = header_size_B(bth->opcode());
  if (packet.size() < header_B + kIcrc_B) return tl::unexpected(WireError::kTruncated);
  const Bytes padded = packet.subspan(header_B, packet.size() - header_B - kIcrc_B);
  if (!padded.empty() && !has_payload(bth->opcode())) return tl::unexpected(WireError::kUnexpectedPayload);
  if (padded.size() % 4 != 0 || bth->pad_B() > padded.size()) return tl::unexpected(WireError::kBadPad);

  RoceHeaders& headers = frame.headers;
  headers.opcode = bth->opcode();
  headers.solicited = bth->solicited();
  headers.mig_req = bth->mig_req();
  headers.p_key = bth->p_key();
  headers.fecn = bth->fecn();
  headers.becn = bth->becn();
  headers.bth_reserved6 = bth->reserved6();
  headers.dest_qp = bth->dest_qp();
  headers.ack_req = bth->ack_req();
  headers.bth_reserved7 = bth->reserved7();
  headers.psn = bth->psn();
  read_extensions(packet.subspan(kBthSize_B), headers);

  frame.pad_B = bth->pad_B();
  frame.payload = padded.first(padded.size() - frame.pad_B);
  std::copy_n(padded.end() - frame.pad_B, frame.pad_B, frame.pad.begin());
  frame.icrc = le32(packet, packet.size() - kIcrc_B);
  return {};
}

}  // namespace weft::wire::detail
