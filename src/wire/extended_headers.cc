#include "wire/extended_headers.h"

namespace weft::wire {

tl::expected<RethView, WireError> RethView::parse(Bytes bytes) {
  if (bytes.size() < kSize_B) return tl::unexpected(WireError::kTruncated);
  return RethView(bytes.first(kSize_B));
}

void write_reth(const Reth& header, MutableBytes out) {
  put_be64(out, 0, header.va);
  put_be32(out, 8, header.rkey);
  put_be32(out, 12, header.dma_len);
}

tl::expected<AethView, WireError> AethView::parse(Bytes bytes) {
  if (bytes.size() < kSize_B) return tl::unexpected(WireError::kTruncated);
  return AethView(bytes.first(kSize_B));
}

void write_aeth(const Aeth& header, MutableBytes out) {
  out[0] = header.syndrome;
  put_be24(out, 1, header.msn);
}

tl::expected<AtomicEthView, WireError> AtomicEthView::parse(Bytes bytes) {
  if (bytes.size() < kSize_B) return tl::unexpected(WireError::kTruncated);
  return AtomicEthView(bytes.first(kSize_B));
}

void write_atomic_eth(const AtomicEth& header, MutableBytes out) {
  put_be64(out, 0, header.va);
  put_be32(out, 8, header.rkey);
  put_be64(out, 12, header.swap_add);
  put_be64(out, 20, header.compare);
}

tl::expected<AtomicAckEthView, WireError> AtomicAckEthView::parse(Bytes bytes) {
  if (bytes.size() < kSize_B) return tl::unexpected(WireError::kTruncated);
  return AtomicAckEthView(bytes.first(kSize_B));
}

void write_atomic_ack_eth(const AtomicAckEth& header, MutableBytes out) {
  put_be64(out, 0, header.original);
}

tl::expected<ImmDtView, WireError> ImmDtView::parse(Bytes bytes) {
  if (bytes.size() < kSize_B) return tl::unexpected(WireError::kTruncated);
  return ImmDtView(bytes.first(kSize_B));
}

void write_imm_dt(const ImmDt& header, MutableBytes out) {
  put_be32(out, 0, header.imm);
}

tl::expected<IethView, WireError> IethView::parse(Bytes bytes) {
  if (bytes.size() < kSize_B) return tl::unexpected(WireError::kTruncated);
  return IethView(bytes.first(kSize_B));
}

void write_ieth(const Ieth& header, MutableBytes out) {
  put_be32(out, 0, header.rkey);
}

tl::expected<DethView, WireError> DethView::parse(Bytes bytes) {
  if (bytes.size() < kSize_B) return tl::unexpected(WireError::kTruncated);
  return DethView(bytes.first(kSize_B));
}

void write_deth(const Deth& header, MutableBytes out) {
  put_be32(out, 0, header.qkey);
  out[4] = header.reserved;
  put_be24(out, 5, header.src_qp);
}

tl::expected<XrcEthView, WireError> XrcEthView::parse(Bytes bytes) {
  if (bytes.size() < kSize_B) return tl::unexpected(WireError::kTruncated);
  return XrcEthView(bytes.first(kSize_B));
}

void write_xrc_eth(const XrcEth& header, MutableBytes out) {
  out[0] = header.reserved;
  put_be24(out, 1, header.srq);
}

}  // namespace weft::wire
