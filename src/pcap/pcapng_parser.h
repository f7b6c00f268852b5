// Reads the blocks of pcapng (draft-ietf-opsawg-pcapng), one body at a time: section headers, interface descriptions,
// enhanced, simple and obsolete packet blocks, interface statistics. Others are skipped: name resolution, decryption
// secrets, custom blocks. Called by CaptureStream, which finds where a block begins and ends.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "pcap/byte_order.h"
#include "pcap/capture.h"

namespace weft::pcap {

class PcapngParser {
 public:
  struct Outcome {
    bool is_packet = false;
    const char* error = nullptr;  // what is wrong with the block
  };

  ByteOrder order;  // of the section

  // The body of a whole block. A packet's bytes and comment point into it.
  Outcome read(std::uint32_t type, std::span<const std::uint8_t> body, std::vector<CaptureInterface>& interfaces,
               CapturedPacket& packet);

  // The interface that a packet of the section means with 0.
  std::size_t section_base() const { return section_base_; }

 private:
  using Bytes = std::span<const std::uint8_t>;

  // How an interface counts time: if_tsresol and if_tsoffset.
  struct Clock {
    std::uint8_t resolution = 6;  // 10^-n s, or 2^-n s with the top bit set
    std::int64_t offset_s = 0;
    // Where time is ticks * scale_ns + offset_ns, up to max_ticks; otherwise max_ticks is 0.
    std::uint64_t scale_ns = 1000;
    std::int64_t offset_ns = 0;
    std::uint64_t max_ticks = std::numeric_limits<std::int64_t>::max() / 1000;

    void prepare();
    // False where 64 bits of nanoseconds cannot hold it.
    bool time_ns(std::uint64_t ticks, std::int64_t& result_ns) const;
    bool odd_time_ns(std::uint64_t ticks, std::int64_t& result_ns) const;
  };

  template <typename Visit>
  bool for_each_option(Bytes options, Visit visit) const;
  bool read_packet_options(Bytes options, bool obsolete, CapturedPacket& packet) const;

  Outcome read_section(Bytes body, const std::vector<CaptureInterface>& interfaces);
  Outcome read_interface(Bytes body, std::vector<CaptureInterface>& interfaces);
  Outcome read_statistics(Bytes body, std::vector<CaptureInterface>& interfaces) const;
  Outcome read_packet(Bytes body, bool obsolete, const std::vector<CaptureInterface>& interfaces,
                      CapturedPacket& packet) const;
  Outcome read_simple(Bytes body, const std::vector<CaptureInterface>& interfaces, CapturedPacket& packet) const;

  std::size_t section_base_ = 0;  // first interface of the section
  std::vector<Clock> clocks_;     // of each interface
};

}  // namespace weft::pcap
