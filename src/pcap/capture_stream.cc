#include "pcap/capture_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pcap/pcapng_blocks.h"

namespace weft::pcap {
namespace {

constexpr std::uint32_t kMagicMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kMagicModified = 0xa1b2cd34;  // records with interface, protocol and packet type
constexpr std::size_t kPcapHeader_B = 24;
constexpr std::size_t kRecordHeader_B = 16;
constexpr std::size_t kModifiedRecordHeader_B = 24;
constexpr std::uint32_t kFcsPresent = 1U << 26;  // in the word of the link type: its length is in the top four bits

constexpr std::size_t kBlockFrame_B = 12;      // type, length, length again
constexpr std::size_t kBuffer_B = 256 * 1024;  // stays in the second-level cache

// Compressed in a way that is not unpacked here; the command does it.
const char* packer_hint(std::uint32_t magic) {
  if (magic == 0xfd2fb528) return "compressed with zstd: unpack it first (zstd -dc FILE | weft ... -)";
  if (magic == 0x587a37fd) return "compressed with xz: unpack it first (xz -dc FILE | weft ... -)";
  if (magic == 0x184d2204) return "compressed with lz4: unpack it first (lz4 -dc FILE | weft ... -)";
  if ((magic & 0xffffff) == 0x685a42) return "compressed with bzip2: unpack it first (bzip2 -dc FILE | weft ... -)";
  return "neither pcap nor pcapng";
}

}  // namespace

tl::expected<CaptureStream, std::string> CaptureStream::open(const std::string& path) {
  auto source = open_file_source(path);
  if (!source) return tl::unexpected(std::move(source.error()));
  return CaptureStream(std::move(*source));
}

CaptureStream::CaptureStream(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

CaptureStream::CaptureStream(std::span<const std::uint8_t> file)
    : begin_(file.data()),
      at_(file.data()),
      end_(file.data() + file.size()),
      source_ended_(true),
      memory_B_(file.size()) {}

bool CaptureStream::has_state(const State& state) const {
  return format_ == state.format_ && interfaces_.size() == state.interfaces_.size() &&
         pcapng_.section_base() == state.pcapng_.section_base() &&
         pcapng_.order.big_endian == state.pcapng_.order.big_endian;
}

std::size_t CaptureStream::State::size_B() const {
  constexpr std::size_t kClock_B = 48;
  std::size_t sum_B = sizeof *this;
  for (const CaptureInterface& each : interfaces_)
    sum_B += sizeof each + kClock_B + each.name.size() + each.description.size();
  return sum_B;
}

CaptureStream::State CaptureStream::state() const {
  State state;
  state.format_ = format_;
  state.order_ = order_;
  state.record_header_B_ = record_header_B_;
  state.fraction_ns_ = fraction_ns_;
  state.interfaces_ = interfaces_;
  state.pcapng_ = pcapng_;
  return state;
}

tl::expected<CaptureStream, std::string> CaptureStream::resume(const std::string& path, const State& state,
                                                               std::uint64_t position_B) {
  auto source = open_file_source(path, position_B);
  if (!source) return tl::unexpected(std::move(source.error()));
  CaptureStream stream(std::move(*source));
  stream.window_offset_B_ = position_B;
  stream.format_ = state.format_;
  stream.order_ = state.order_;
  stream.record_header_B_ = state.record_header_B_;
  stream.fraction_ns_ = state.fraction_ns_;
  stream.interfaces_ = state.interfaces_;
  stream.pcapng_ = state.pcapng_;
  return stream;
}

const char* CaptureStream::format_name() const {
  if (format_ == Format::kUnknown) return "";
  return format_ == Format::kClassic ? "pcap" : "pcapng";
}

std::uint64_t CaptureStream::consumed_B() const {
  return source_ == nullptr ? offset_B() : source_->consumed_B();
}

std::optional<std::uint64_t> CaptureStream::file_B() const {
  return source_ == nullptr ? std::optional(memory_B_) : source_->file_B();
}

bool CaptureStream::fail(const char* message) {
  error_ = CaptureError{offset_B(), message};
  finished_ = true;
  return false;
}

// The window has less than a record: it is the end, or the file is cut.
bool CaptureStream::end_or_cut() {
  finished_ = true;
  if (!error_ && (available_B() > 0 || (source_ != nullptr && source_->is_cut()))) cut_at_B_ = offset_B();
  return false;
}

// The buffer grows with what was read, not with what the file says is to come.
void CaptureStream::grow(std::size_t rest_B) {
  std::vector<std::uint8_t> larger(std::max(kBuffer_B, buffer_.size() * 2));
  if (rest_B > 0) std::memcpy(larger.data(), at_, rest_B);
  buffer_ = std::move(larger);
}

bool CaptureStream::refill(std::size_t need_B) {
  if (source_ended_) return false;
  const std::size_t rest_B = available_B();
  window_offset_B_ = offset_B();
  if (buffer_.empty()) {
    grow(0);
  } else if (rest_B > 0) {
    std::memmove(buffer_.data(), at_, rest_B);
  }
  begin_ = at_ = buffer_.data();
  end_ = at_ + rest_B;
  while (available_B() < need_B) {
    const std::size_t have_B = available_B();
    if (have_B == buffer_.size()) {
      grow(have_B);
      begin_ = at_ = buffer_.data();
      end_ = at_ + have_B;
    }
    const auto got_B = source_->read(std::span(buffer_).subspan(have_B));
    if (!got_B || *got_B == 0) {
      source_ended_ = true;
      return got_B ? false : fail(got_B.error());
    }
    end_ += *got_B;
  }
  return true;
}

bool CaptureStream::next_slow(CapturedPacket& packet) {
  while (!finished_) {
    switch (format_) {
      case Format::kUnknown:
        detect();
        break;
      case Format::kClassic:
        if (prepare_record()) return next_classic(packet);
        break;
      case Format::kPcapng:
        if (read_block(packet)) return true;
        break;
    }
  }
  return false;
}

bool CaptureStream::detect() {
  if (!ensure(4)) return error_ ? false : fail("too short for a capture");
  if (at_[0] == 0x1f && at_[1] == 0x8b) return unpack_gzip();
  for (const bool big_endian : {false, true}) {
    order_.big_endian = big_endian;
    const std::uint32_t magic = order_.u32(at_);
    if (magic == kMagicMicroseconds) return begin_classic(false, kRecordHeader_B);
    if (magic == kMagicNanoseconds) return begin_classic(true, kRecordHeader_B);
    if (magic == kMagicModified) return begin_classic(false, kModifiedRecordHeader_B);
  }
  const std::uint32_t little = ByteOrder{false}.u32(at_);
  if (little != kSectionHeaderBlock) return fail(packer_hint(little));
  format_ = Format::kPcapng;
  return true;
}

// Unpacked content is handled like a file; gzip within gzip is not.
bool CaptureStream::unpack_gzip() {
  if (source_ == nullptr) return fail("compressed with gzip: read it from a file");
  if (unpacked_) return fail("gzip within gzip");
  unpacked_ = true;
  source_ = make_gzip_source(std::move(source_), std::span(at_, end_));
  source_ended_ = false;
  end_ = at_;
  return true;
}

bool CaptureStream::begin_classic(bool nanoseconds, std::size_t record_header_B) {
  if (!ensure(kPcapHeader_B)) return error_ ? false : fail("pcap header is cut");
  CaptureInterface interface;
  interface.snap_B = order_.u32(at_ + 16);
  const std::uint32_t link = order_.u32(at_ + 20);
  interface.link_type = static_cast<std::uint16_t>(link);
  if ((link & kFcsPresent) != 0) interface.fcs_B = static_cast<std::uint8_t>((link >> 28) * 2);
  interfaces_.push_back(std::move(interface));
  record_header_B_ = static_cast<std::uint32_t>(record_header_B);
  fraction_ns_ = nanoseconds ? 1 : 1000;
  at_ += kPcapHeader_B;
  format_ = Format::kClassic;
  return true;
}

// Brings a whole record into the window.
bool CaptureStream::prepare_record() {
  if (!ensure(record_header_B_)) return end_or_cut();
  const std::uint32_t captured_B = order_.u32(at_ + 8);
  if (captured_B > kMaxRecord_B) return fail("packet longer than 16 MiB");
  return ensure(record_header_B_ + captured_B) || end_or_cut();
}

bool CaptureStream::read_block(CapturedPacket& packet) {
  if (!ensure(kBlockFrame_B)) return end_or_cut();
  ByteOrder& order = pcapng_.order;
  if (order.u32(at_) == kSectionHeaderBlock) {
    const bool little = ByteOrder{false}.u32(at_ + 8) == kByteOrderMagic;
    if (!little && ByteOrder{true}.u32(at_ + 8) != kByteOrderMagic) return fail("section without byte-order magic");
    order.big_endian = !little;
  }
  const std::uint32_t type = order.u32(at_);
  const std::uint32_t size_B = order.u32(at_ + 4);
  if (size_B < kBlockFrame_B || size_B % 4 != 0) return fail("bad block length");
  if (size_B > kMaxRecord_B) return fail("block longer than 16 MiB");
  if (!ensure(size_B)) return end_or_cut();
  if (order.u32(at_ + size_B - 4) != size_B) return fail("the two lengths of a block differ");
  const auto outcome = pcapng_.read(type, {at_ + 8, size_B - kBlockFrame_B}, interfaces_, packet);
  if (outcome.error != nullptr) return fail(outcome.error);
  at_ += size_B;
  return outcome.is_packet;
}

}  // namespace weft::pcap
