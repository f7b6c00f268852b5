// Writes a classic pcap file of healthy RoCEv2 traffic, for bench/analyze.sh. Connections in groups of 64: each sends
// a WRITE of several packets, interleaved with the others of its group, and gets an ACK; a group does so ROUNDS times
// before the next one begins. Usage: weft_capture_maker CONNECTIONS ROUNDS PACKETS_PER_MESSAGE PMTU SNAP FILE
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "wire/roce_frame.h"

namespace {

using weft::wire::Opcode;
using weft::wire::RoceHeaders;

struct Work {
  std::uint32_t connections = 0, rounds = 0, message_packets = 0, pmtu_B = 0, snap_B = 0;
};

constexpr std::uint32_t kGroup = 64;
constexpr std::uint32_t kHosts = 4096;
constexpr std::int64_t kSlot_ns = 100;

class Maker {
 public:
  Maker(const Work& work, std::FILE* file)
      : work_(work), file_(file), payload_(work.pmtu_B, 0x5a), frame_(work.pmtu_B + 256) {
    put({0xa1b23c4d, 4U << 16 | 2U, 0, 0, work.snap_B, 1});
  }

  void make() {
    for (std::uint32_t first = 0; first < work_.connections; first += kGroup) {
      const std::uint32_t end = std::min(first + kGroup, work_.connections);
      for (std::uint32_t round = 0; round < work_.rounds; ++round) {
        for (std::uint32_t i = 0; i < work_.message_packets; ++i)
          for (std::uint32_t c = first; c < end; ++c) data(c, round, i);
        for (std::uint32_t c = first; c < end; ++c) ack(c, round);
      }
    }
    flush();
  }
  std::uint64_t packets() const { return packets_; }
  std::uint64_t bytes() const { return bytes_; }
  bool ok() const { return ok_; }

 private:
  RoceHeaders between(std::uint32_t from, std::uint32_t to, std::uint32_t from_qp, std::uint32_t to_qp) const {
    const auto byte = [](std::uint32_t value, int shift) { return static_cast<std::uint8_t>(value >> shift); };
    RoceHeaders headers;
    headers.src_mac = {2, 0, 0, 0, byte(from, 8), byte(from, 0)};
    headers.dst_mac = {2, 0, 0, 0, byte(to, 8), byte(to, 0)};
    headers.src_ip = weft::wire::ipv4_mapped(10, 0, byte(from, 8), byte(from, 0));
    headers.dst_ip = weft::wire::ipv4_mapped(10, 0, byte(to, 8), byte(to, 0));
    headers.tos = 106;
    headers.src_port = static_cast<std::uint16_t>(0xc000 | ((from_qp ^ to_qp) * 2654435761U >> 18));
    headers.dest_qp = to_qp;
    return headers;
  }
  static std::uint32_t client(std::uint32_t c) { return c % kHosts; }
  static std::uint32_t server(std::uint32_t c) { return (c % kHosts + 1 + c / kHosts % (kHosts - 1)) % kHosts; }

  void data(std::uint32_t c, std::uint32_t round, std::uint32_t i) {
    RoceHeaders headers = between(client(c), server(c), 0x800000 + c, 0x100 + c);
    const bool first = i == 0, last = i + 1 == work_.message_packets;
    headers.opcode = first && last ? Opcode::kWriteOnly
                     : first       ? Opcode::kWriteFirst
                     : last        ? Opcode::kWriteLast
                                   : Opcode::kWriteMiddle;
    headers.psn = (c * 7919 + round * work_.message_packets + i) & 0xffffff;
    headers.ack_req = last;
    headers.va = 0x7f0000000000;
    headers.rkey = 0x1000 + c;
    headers.dma_len = work_.message_packets * work_.pmtu_B;
    write(headers, payload_);
  }

  void ack(std::uint32_t c, std::uint32_t round) {
    RoceHeaders headers = between(server(c), client(c), 0x100 + c, 0x800000 + c);
    headers.opcode = Opcode::kAck;
    headers.psn = (c * 7919 + (round + 1) * work_.message_packets - 1) & 0xffffff;
    headers.aeth_syndrome = 31;  // no credit limit
    headers.msn = (round + 1) & 0xffffff;
    write(headers, {});
  }

  void write(const RoceHeaders& headers, weft::wire::Bytes payload) {
    const auto size_B = static_cast<std::uint32_t>(weft::wire::build_roce_frame(headers, payload, frame_));
    const std::uint32_t captured_B = std::min(size_B, work_.snap_B);
    put({static_cast<std::uint32_t>(1'700'000'000 + time_ns_ / 1'000'000'000),
         static_cast<std::uint32_t>(time_ns_ % 1'000'000'000), captured_B, size_B});
    buffer_.insert(buffer_.end(), frame_.begin(), frame_.begin() + captured_B);
    time_ns_ += kSlot_ns;
    ++packets_;
    if (buffer_.size() > 1 << 20) flush();
  }

  void put(std::initializer_list<std::uint32_t> words) {
    for (const std::uint32_t word : words)
      for (int shift = 0; shift < 32; shift += 8) buffer_.push_back(static_cast<std::uint8_t>(word >> shift));
  }
  void flush() {
    ok_ &= std::fwrite(buffer_.data(), 1, buffer_.size(), file_) == buffer_.size();
    bytes_ += buffer_.size();
    buffer_.clear();
  }

  Work work_;
  std::FILE* file_;
  std::vector<std::uint8_t> payload_, frame_, buffer_;
  std::int64_t time_ns_ = 0;
  std::uint64_t packets_ = 0, bytes_ = 0;
  bool ok_ = true;
};

bool read_number(std::string_view text, std::uint32_t least, std::uint32_t most, std::uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most;
}

}  // namespace

int main(int argc, char** argv) {
  Work work;
  if (argc != 7 || !read_number(argv[1], 1, 4'000'000, work.connections) ||
      !read_number(argv[2], 1, 1'000'000, work.rounds) || !read_number(argv[3], 1, 1024, work.message_packets) ||
      !read_number(argv[4], 256, 4096, work.pmtu_B) || !read_number(argv[5], 64, 65535, work.snap_B)) {
    std::fputs("usage: weft_capture_maker CONNECTIONS ROUNDS PACKETS_PER_MESSAGE PMTU SNAP FILE\n", stderr);
    return 2;
  }
  std::FILE* file = std::fopen(argv[6], "wb");
  if (file == nullptr) {
    std::perror(argv[6]);
    return 1;
  }
  Maker maker(work, file);
  maker.make();
  if (std::fclose(file) != 0 || !maker.ok()) {
    fmt::print(stderr, "{}: cannot be written\n", argv[6]);
    return 1;
  }
  fmt::print("packets {} bytes {}\n", maker.packets(), maker.bytes());
  return 0;
}
