#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "pcap/byte_source.h"

namespace weft::pcap {
namespace {

constexpr std::size_t kPackedBuffer_B = 64 * 1024;
constexpr int kGzipWindowBits = 15 + 16;  // the largest window; gzip header and trailer

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, std::span<const std::uint8_t> head)
      : packed_(std::move(packed)), buffer_(std::max(kPackedBuffer_B, head.size())) {
    std::copy(head.begin(), head.end(), buffer_.begin());
    stream_.next_in = buffer_.data();
    stream_.avail_in = static_cast<uInt>(head.size());
    ready_ = inflateInit2(&stream_, kGzipWindowBits) == Z_OK;
  }
  ~GzipSource() override {
    if (ready_) inflateEnd(&stream_);
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  tl::expected<std::size_t, const char*> read(std::span<std::uint8_t> into) override {
    if (!ready_) return tl::unexpected<const char*>("no memory to unpack gzip");
    stream_.next_out = into.data();
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), 1U << 30));
    while (stream_.next_out == into.data() && !ended_) {
      if (stream_.avail_in == 0) {
        const auto more = refill();
        if (!more) return tl::unexpected(more.error());
        if (*more == 0) {
          ended_ = true;
          cut_ = !between_members_;
          break;
        }
      }
      if (between_members_ && !next_member()) continue;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        between_members_ = true;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        damaged_ = true;
        break;
      }
    }
    const auto got_B = static_cast<std::size_t>(stream_.next_out - into.data());
    if (got_B == 0 && damaged_) return tl::unexpected<const char*>("gzip data is damaged");
    return got_B;
  }

  bool is_cut() const override { return cut_; }
  std::uint64_t consumed_B() const override {
    return packed_->consumed_B() - std::min<std::uint64_t>(packed_->consumed_B(), stream_.avail_in);
  }
  std::optional<std::uint64_t> file_B() const override { return packed_->file_B(); }

 private:
  tl::expected<std::size_t, const char*> refill() {
    const auto got_B = packed_->read(buffer_);
    if (!got_B) return got_B;
    stream_.next_in = buffer_.data();
    stream_.avail_in = static_cast<uInt>(*got_B);
    return got_B;
  }

  // After a member comes another one, or zeros or anything else, which is ignored as gzip(1) does.
  bool next_member() {
    if (*stream_.next_in != 0x1f) {
      ended_ = true;
      return false;
    }
    between_members_ = false;
    return inflateReset(&stream_) == Z_OK;
  }

  std::unique_ptr<ByteSource> packed_;
  std::vector<std::uint8_t> buffer_;
  z_stream stream_ = {};
  bool ready_ = false;
  bool between_members_ = false;
  bool ended_ = false;
  bool cut_ = false;
  bool damaged_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<ByteSource> packed, std::span<const std::uint8_t> head) {
  return std::make_unique<GzipSource>(std::move(packed), head);
}

}  // namespace weft::pcap
