#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "live/control/watchers.h"
#include "text/units.h"

namespace weft::live {

tl::expected<std::shared_ptr<LiveCapture>, CommandProblem> LiveCapture::start(CommandContext& context,
                                                                              CommandWords words,
                                                                              std::shared_ptr<OutputStream> stream) {
  if (words.empty()) return problem("which port?", "write weft capture --live NODE:PORT, or all");
  const auto ports = cabled_ports(context.lab(), words[0]);
  if (!ports) return tl::unexpected(ports.error());
  observe::CaptureOptions options;
  options.in_place = true;
  if (words.size() == 3 && words[1] == "--snaplen") {
    const auto size = lab::parse_quantity(words[2], lab::Quantity::kSize);
    if (!size || *size < 42) return problem(fmt::format("--snaplen {}", words[2]), "write 42 B or more");
    options.snaplen_B = static_cast<std::uint32_t>(std::min<std::int64_t>(*size, UINT32_MAX));
  } else if (words.size() != 1) {
    return problem(fmt::format("{} is too much", words[1]), "write weft capture --live PORT[,PORT]");
  }
  std::shared_ptr<LiveCapture> capture(new LiveCapture(context, std::move(stream)));
  cookie_io_functions_t functions{};
  functions.write = &LiveCapture::write;
  capture->file_ = fopencookie(capture.get(), "w", functions);
  if (capture->file_ == nullptr) return problem("no memory for a capture", "try again");
  capture->number_ = context.session.captures().start(*ports, capture->file_, options);
  return capture;
}

LiveCapture::~LiveCapture() {
  stop();
}

// Whole blocks only: the reader's file stays readable whatever is lost.
ssize_t LiveCapture::write(void* self, const char* bytes, std::size_t size_B) {
  auto& capture = *static_cast<LiveCapture*>(self);
  capture.blocks_.add({bytes, size_B}, [&capture](std::uint32_t type, std::string_view block) {
    const bool passed = capture.stream_->write(block);
    if (type == kPacketBlock) ++(passed ? capture.frames_ : capture.lost_);
  });
  return static_cast<ssize_t>(size_B);
}

std::string LiveCapture::stop() {
  if (number_ == 0) return "";
  context_.session.captures().stop(number_);
  number_ = 0;
  std::fclose(file_);
  if (lost_ == 0) return fmt::format("{} frames", frames_);
  return fmt::format("{} frames; {} were lost because the reader was too slow", frames_, lost_);
}

}  // namespace weft::live
