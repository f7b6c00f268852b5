#include "pcap/pcapng.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "pcap/link_type.h"
#include "pcap/pcapng_blocks.h"

namespace weft::pcap {
namespace {

constexpr std::uint8_t kNanoseconds = 9;  // if_tsresol: 10^-9 s
constexpr std::uint8_t kDirectionInbound = 1;
constexpr std::uint8_t kDirectionOutbound = 2;

constexpr std::size_t kFlush_B = 256 * 1024;
constexpr std::size_t kMaxOption_B = 0xffff;

}  // namespace

PcapngWriter::PcapngWriter(std::FILE* file) : PcapngWriter(file, false) {}

PcapngWriter::PcapngWriter(std::FILE* file, bool owns_file) : file_(file), owns_file_(owns_file) {
  WEFT_CHECK(file != nullptr, "capture writer without a file");
  buffer_.reserve(kFlush_B + kFlush_B / 4);
  begin_block(kSectionHeaderBlock);
  put_u32(kByteOrderMagic);
  put_u16(1);  // version 1.0
  put_u16(0);
  put_u32(0xffffffff);  // section length: not said
  put_u32(0xffffffff);
  put_option(kShbUserAppl, "weft");
  put_option(kOptEnd, std::string_view());
  end_block();
}

tl::expected<PcapngWriter, std::string> PcapngWriter::create(const std::string& path, std::uint32_t snaplen_B) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return tl::unexpected(path + ": " + std::strerror(errno));
  std::setvbuf(file, nullptr, _IONBF, 0);  // buffer_ is the buffer
  PcapngWriter writer(file, true);
  writer.snaplen_B_ = snaplen_B;
  return writer;
}

std::uint64_t PcapngWriter::block_B(std::size_t frame_B, std::size_t comment_B) {
  constexpr std::uint64_t kFixed_B = 12 + 20 + 8 + 4;  // block, packet header, flags, end of options
  const auto padded = [](std::size_t size_B) { return (size_B + 3) / 4 * 4; };
  return kFixed_B + padded(frame_B) + (comment_B == 0 ? 0 : 4 + padded(comment_B));
}

PcapngWriter::PcapngWriter(PcapngWriter&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      owns_file_(other.owns_file_),
      failed_(other.failed_),
      has_packets_(other.has_packets_),
      interfaces_(other.interfaces_),
      block_at_(other.block_at_),
      snaplen_B_(other.snaplen_B_),
      flushed_B_(other.flushed_B_),
      buffer_(std::move(other.buffer_)) {}

PcapngWriter& PcapngWriter::operator=(PcapngWriter&& other) noexcept {
  if (this == &other) return *this;
  close();
  file_ = std::exchange(other.file_, nullptr);
  owns_file_ = other.owns_file_;
  failed_ = other.failed_;
  has_packets_ = other.has_packets_;
  interfaces_ = other.interfaces_;
  block_at_ = other.block_at_;
  snaplen_B_ = other.snaplen_B_;
  flushed_B_ = other.flushed_B_;
  buffer_ = std::move(other.buffer_);
  return *this;
}

PcapngWriter::~PcapngWriter() {
  close();
}

std::uint32_t PcapngWriter::add_interface(std::string_view name, std::uint64_t speed_bps,
                                          std::string_view description) {
  WEFT_CHECK(!has_packets_, "capture interface added after the first packet");
  begin_block(kInterfaceDescriptionBlock);
  put_u16(kLinkTypeEthernet);
  put_u16(0);
  put_u32(snaplen_B_);
  put_option(kIfName, name);
  if (!description.empty()) put_option(kIfDescription, description);
  std::array<std::uint8_t, 8> speed;
  for (std::size_t i = 0; i < speed.size(); ++i) speed[i] = static_cast<std::uint8_t>(speed_bps >> (8 * i));
  put_option(kIfSpeed, speed);
  put_option(kIfTsresol, std::array{kNanoseconds});
  put_option(kOptEnd, std::string_view());
  end_block();
  return interfaces_++;
}

void PcapngWriter::write(std::uint32_t interface, std::int64_t time_ns, bool outbound,
                         std::span<const std::uint8_t> frame, std::string_view comment, std::size_t original_B) {
  WEFT_CHECK(file_ != nullptr, "packet written to a closed capture");
  WEFT_CHECK(interface < interfaces_, "packet of an interface that was not added");
  WEFT_CHECK(time_ns >= 0, "captured packet before the epoch");
  WEFT_CHECK(original_B == 0 || original_B >= frame.size(), "frame longer than its original");
  has_packets_ = true;
  if (failed_) return;
  const auto time = static_cast<std::uint64_t>(time_ns);
  begin_block(kEnhancedPacketBlock);
  put_u32(interface);
  put_u32(static_cast<std::uint32_t>(time >> 32));
  put_u32(static_cast<std::uint32_t>(time));
  put_u32(static_cast<std::uint32_t>(frame.size()));
  put_u32(static_cast<std::uint32_t>(original_B == 0 ? frame.size() : original_B));
  put_padded(frame);
  put_option(kEpbFlags, std::array<std::uint8_t, 4>{outbound ? kDirectionOutbound : kDirectionInbound, 0, 0, 0});
  if (!comment.empty()) put_option(kOptComment, comment);
  put_option(kOptEnd, std::string_view());
  end_block();
}

bool PcapngWriter::close() {
  if (file_ == nullptr) return !failed_;
  flush();
  std::FILE* file = std::exchange(file_, nullptr);
  if ((owns_file_ ? std::fclose(file) : std::fflush(file)) != 0) failed_ = true;
  return !failed_;
}

void PcapngWriter::begin_block(std::uint32_t type) {
  block_at_ = buffer_.size();
  put_u32(type);
  put_u32(0);  // total length: end_block knows
}

void PcapngWriter::end_block() {
  const auto size_B = static_cast<std::uint32_t>(buffer_.size() - block_at_ + 4);
  put_u32(size_B);
  std::memcpy(&buffer_[block_at_ + 4], &buffer_[buffer_.size() - 4], 4);
  if (buffer_.size() >= kFlush_B) flush();
}

void PcapngWriter::put_u16(std::uint16_t value) {
  const std::array bytes = {static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(value >> 8)};
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void PcapngWriter::put_u32(std::uint32_t value) {
  const std::array bytes = {static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(value >> 8),
                            static_cast<std::uint8_t>(value >> 16), static_cast<std::uint8_t>(value >> 24)};
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void PcapngWriter::put_padded(std::span<const std::uint8_t> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  buffer_.insert(buffer_.end(), (4 - bytes.size() % 4) % 4, 0);
}

void PcapngWriter::put_option(std::uint16_t code, std::span<const std::uint8_t> value) {
  WEFT_CHECK(value.size() <= kMaxOption_B, "capture comment or name longer than 65535 bytes");
  put_u16(code);
  put_u16(static_cast<std::uint16_t>(value.size()));
  put_padded(value);
}

void PcapngWriter::put_option(std::uint16_t code, std::string_view text) {
  put_option(code, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

void PcapngWriter::sync() {
  if (file_ == nullptr || buffer_.empty()) return;
  flush();
  if (std::fflush(file_) != 0) failed_ = true;
}

void PcapngWriter::flush() {
  if (!failed_ && std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) failed_ = true;
  flushed_B_ += buffer_.size();
  buffer_.clear();
}

}  // namespace weft::pcap
