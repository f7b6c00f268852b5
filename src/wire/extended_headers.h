// Extension headers that follow a BTH (IBTA vol 1, 9.3). Which of them, and in which order, is the
// opcode's business (opcode.h). Each is a struct of values, a view over checked bytes, and a writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>

#include "wire/aeth_syndrome.h"
#include "wire/bytes.h"
#include "wire/opcode.h"
#include "wire/wire_error.h"

namespace weft::wire {

// RDMA Extended Transport Header: VA 64 | R_Key 32 | DMALen 32.
struct Reth {
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t dma_len = 0;  // bytes

  friend bool operator==(const Reth&, const Reth&) = default;
};

class RethView {
 public:
  static constexpr std::size_t kSize_B = kRethSize_B;
  static tl::expected<RethView, WireError> parse(Bytes bytes);

  std::uint64_t va() const { return be64(bytes_, 0); }
  std::uint32_t rkey() const { return be32(bytes_, 8); }
  std::uint32_t dma_len() const { return be32(bytes_, 12); }
  Reth header() const { return {va(), rkey(), dma_len()}; }

 private:
  explicit RethView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};
void write_reth(const Reth& header, MutableBytes out);

// ACK Extended Transport Header: syndrome 8 | MSN 24. See aeth_syndrome.h.
struct Aeth {
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;  // 24 bits

  friend bool operator==(const Aeth&, const Aeth&) = default;
};

class AethView {
 public:
  static constexpr std::size_t kSize_B = kAethSize_B;
  static tl::expected<AethView, WireError> parse(Bytes bytes);

  std::uint8_t syndrome() const { return bytes_[0]; }
  std::uint32_t msn() const { return be24(bytes_, 1); }
  Aeth header() const { return {syndrome(), msn()}; }

 private:
  explicit AethView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};
void write_aeth(const Aeth& header, MutableBytes out);

// Atomic Extended Transport Header: VA 64 | R_Key 32 | Swap or Add 64 | Compare 64.
struct AtomicEth {
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;

  friend bool operator==(const AtomicEth&, const AtomicEth&) = default;
};

class AtomicEthView {
 public:
  static constexpr std::size_t kSize_B = kAtomicEthSize_B;
  static tl::expected<AtomicEthView, WireError> parse(Bytes bytes);

  std::uint64_t va() const { return be64(bytes_, 0); }
  std::uint32_t rkey() const { return be32(bytes_, 8); }
  std::uint64_t swap_add() const { return be64(bytes_, 12); }
  std::uint64_t compare() const { return be64(bytes_, 20); }
  AtomicEth header() const { return {va(), rkey(), swap_add(), compare()}; }

 private:
  explicit AtomicEthView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};
void write_atomic_eth(const AtomicEth& header, MutableBytes out);

// Atomic ACK Extended Transport Header: what the memory held before.
struct AtomicAckEth {
  std::uint64_t original = 0;

  friend bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;
};

class AtomicAckEthView {
 public:
  static constexpr std::size_t kSize_B = kAtomicAckEthSize_B;
  static tl::expected<AtomicAckEthView, WireError> parse(Bytes bytes);

  std::uint64_t original() const { return be64(bytes_, 0); }
  AtomicAckEth header() const { return {original()}; }

 private:
  explicit AtomicAckEthView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};
void write_atomic_ack_eth(const AtomicAckEth& header, MutableBytes out);

// Immediate Data: four bytes for the receiver's completion, in the sender's order.
struct ImmDt {
  std::uint32_t imm = 0;

  friend bool operator==(const ImmDt&, const ImmDt&) = default;
};

class ImmDtView {
 public:
  static constexpr std::size_t kSize_B = kImmDtSize_B;
  static tl::expected<ImmDtView, WireError> parse(Bytes bytes);

  std::uint32_t imm() const { return be32(bytes_, 0); }
  ImmDt header() const { return {imm()}; }

 private:
  explicit ImmDtView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};
void write_imm_dt(const ImmDt& header, MutableBytes out);

// Invalidate Extended Transport Header: the R_Key that the receiver invalidates.
struct Ieth {
  std::uint32_t rkey = 0;

  friend bool operator==(const Ieth&, const Ieth&) = default;
};

class IethView {
 public:
  static constexpr std::size_t kSize_B = kIethSize_B;
  static tl::expected<IethView, WireError> parse(Bytes bytes);

  std::uint32_t rkey() const { return be32(bytes_, 0); }
  Ieth header() const { return {rkey()}; }

 private:
  explicit IethView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};
void write_ieth(const Ieth& header, MutableBytes out);

// Datagram Extended Transport Header: Q_Key 32 | reserved 8, source QP 24.
struct Deth {
  std::uint32_t qkey = 0;
  std::uint8_t reserved = 0;
  std::uint32_t src_qp = 0;  // 24 bits

  friend bool operator==(const Deth&, const Deth&) = default;
};

class DethView {
 public:
  static constexpr std::size_t kSize_B = kDethSize_B;
  static tl::expected<DethView, WireError> parse(Bytes bytes);

  std::uint32_t qkey() const { return be32(bytes_, 0); }
  std::uint8_t reserved() const { return bytes_[4]; }
  std::uint32_t src_qp() const { return be24(bytes_, 5); }
  Deth header() const { return {qkey(), reserved(), src_qp()}; }

 private:
  explicit DethView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};
void write_deth(const Deth& header, MutableBytes out);

// Extended Reliable Connection Header (IBTA annex A14): reserved 8, number of the shared receive queue 24.
struct XrcEth {
  std::uint8_t reserved = 0;
  std::uint32_t srq = 0;  // 24 bits

  friend bool operator==(const XrcEth&, const XrcEth&) = default;
};

class XrcEthView {
 public:
  static constexpr std::size_t kSize_B = kXrcEthSize_B;
  static tl::expected<XrcEthView, WireError> parse(Bytes bytes);

  std::uint8_t reserved() const { return bytes_[0]; }
  std::uint32_t srq() const { return be24(bytes_, 1); }
  XrcEth header() const { return {reserved(), srq()}; }

 private:
  explicit XrcEthView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};
void write_xrc_eth(const XrcEth& header, MutableBytes out);

}  // namespace weft::wire
