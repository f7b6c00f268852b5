#include "observe/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "observe/frame_of.h"

namespace weft::observe {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kDigits = 5;  // of a ring file's number, as dumpcap has them

// "runs/x/capture" and ".pcapng"
std::pair<std::string, std::string> stem_and_extension(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  return {path.substr(0, path.size() - extension.size()), extension};
}

}  // namespace

std::string capture_file_name(const std::string& path, const CaptureOptions& options, std::uint64_t number) {
  if (options.files == 0) return path;
  const auto [stem, extension] = stem_and_extension(path);
  return fmt::format("{}_{:0{}}{}", stem, number, kDigits, extension);
}

std::vector<std::string> capture_files(const std::string& path) {
  std::vector<std::string> files;
  std::error_code error;
  if (fs::exists(path, error)) files.push_back(path);
  const auto [stem, extension] = stem_and_extension(path);
  const std::string prefix = fs::path(stem).filename().string() + "_";
  fs::path directory = fs::path(path).parent_path();
  if (directory.empty()) directory = ".";
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(extension)) continue;
    const std::string digits = name.substr(prefix.size(), name.size() - prefix.size() - extension.size());
    if (digits.size() >= kDigits && digits.find_first_not_of("0123456789") == digits.npos)
      files.push_back(stem + "_" + digits + extension);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Capture::Capture(std::string path, pcap::PcapngWriter writer, ReplacedFile file, const fabric::AddressBook& book,
                 const CaptureOptions& options, std::atomic<bool>* full)
    : path_(std::move(path)),
      options_(options),
      full_(full),
      writer_(std::move(writer)),
      file_(std::move(file)),
      book_(book) {
  names_.push_back(capture_file_name(path_, options_, numbered_));
}

tl::expected<std::unique_ptr<Capture>, std::string> Capture::create(const std::string& path,
                                                                    const fabric::AddressBook& book,
                                                                    const CaptureOptions& options,
                                                                    std::atomic<bool>* full) {
  const std::string name = capture_file_name(path, options, 1);
  ReplacedFile file;
  if (!options.in_place) file = ReplacedFile(name);
  auto writer = pcap::PcapngWriter::create(options.in_place ? name : file.temporary(), options.snaplen_B);
  if (!writer) return tl::make_unexpected(writer.error());
  return std::unique_ptr<Capture>(new Capture(path, std::move(*writer), std::move(file), book, options, full));
}

std::unique_ptr<Capture> Capture::create(std::FILE* file, const fabric::AddressBook& book,
                                         const CaptureOptions& options, std::atomic<bool>* full) {
  return std::unique_ptr<Capture>(new Capture("", pcap::PcapngWriter(file), ReplacedFile(), book, options, full));
}

fabric::Tap Capture::add_port(std::uint32_t port, std::int64_t speed_bps, const std::string& description) {
  auto entry = std::make_unique<Port>();
  entry->capture = this;
  interfaces_.push_back({book_[port].name, static_cast<std::uint64_t>(speed_bps), description});
  const Interface& added = interfaces_.back();
  entry->interface = writer_.add_interface(added.name, added.speed_bps, added.description);
  ports_.push_back(std::move(entry));
  return {ports_.back().get(), &Capture::on_frame};
}

fabric::Tap Capture::add_mirror(std::uint32_t port, std::int64_t speed_bps, const std::string& description,
                                const Mirror& mirror) {
  fabric::Tap tap = add_port(port, speed_bps, description);
  ports_.back()->mirror = mirror;
  return tap;
}

// The frame at `at` becomes the payload of an ERSPAN packet; returns the new size.
std::size_t Capture::wrap(Port& port, std::size_t at, std::size_t size_B, const fabric::TapFrame& frame) {
  const Mirror& mirror = *port.mirror;
  std::uint32_t mirrored = frame.outbound ? frame.from : frame.to;
  wire::Erspan header;
  if (*mirror.type == wire::ErspanType::kIII) {
    header = wire::erspan3_at(frame.time_ps, mirror.session, mirror.switch_id, static_cast<std::uint16_t>(mirrored),
                              frame.outbound);
  } else {
    header.session = mirror.session;
    header.index = mirrored;
  }
  header.sequence = static_cast<std::uint32_t>(port.next_order);
  std::vector<std::uint8_t> outer =
      wire::build_erspan_frame(mirror.tunnel, header, std::span(port.bytes).subspan(at, size_B));
  port.bytes.resize(at + outer.size());
  std::copy(outer.begin(), outer.end(), port.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  return outer.size();
}

void Capture::on_frame(void* self, const fabric::TapFrame& frame) {
  auto& port = *static_cast<Port*>(self);
  Capture& capture = *port.capture;
  thread_local std::array<std::uint8_t, kMaxFrame_B> scratch;
  std::size_t at = port.bytes.size();
  std::size_t size_B = frame_of(frame.packet, frame.domain, capture.book_, frame.from, frame.to, scratch);
  port.bytes.insert(port.bytes.end(), scratch.begin(), scratch.begin() + static_cast<std::ptrdiff_t>(size_B));
  if (port.mirror && port.mirror->type) size_B = wrap(port, at, size_B, frame);
  const std::size_t original_B = size_B;
  if (capture.options_.snaplen_B != 0 && size_B > capture.options_.snaplen_B) {
    size_B = capture.options_.snaplen_B;
    port.bytes.resize(at + size_B);
  }
  std::string text(frame.comment);
  if (frame.outbound && (frame.packet.flags & engine::Packet::kRetransmission) != 0) {
    text = text.empty() ? "weft: retransmission" : "weft: retransmission; " + text;
  }
  const std::uint64_t kept_B = sizeof(Record) + size_B + text.size();
  port.records.push_back({frame.time_ps, port.interface, frame.outbound, static_cast<std::uint32_t>(size_B),
                          static_cast<std::uint32_t>(original_B), port.next_order++, at, std::move(text)});
  if (capture.pending_B_.fetch_add(kept_B, std::memory_order_relaxed) + kept_B > kMostPending_B &&
      capture.full_ != nullptr)
    capture.full_->store(true, std::memory_order_relaxed);
}

void Capture::flush(Time_ps time_ps) {
  struct Pending {
    const Record* record;
    const std::uint8_t* bytes;
  };
  std::vector<Pending> due;
  for (const auto& port : ports_) {
    for (const Record& record : port->records) {
      if (record.time_ps < time_ps) due.push_back({&record, port->bytes.data() + record.bytes_at});
    }
  }
  std::sort(due.begin(), due.end(), [](const Pending& a, const Pending& b) {
    if (a.record->time_ps != b.record->time_ps) return a.record->time_ps < b.record->time_ps;
    if (a.record->interface != b.record->interface) return a.record->interface < b.record->interface;
    if (a.record->outbound != b.record->outbound) return a.record->outbound;
    return a.record->order < b.record->order;
  });
  for (const Pending& each : due) {
    const Record& record = *each.record;
    if (!has_room(pcap::PcapngWriter::block_B(record.size_B, record.comment.size()))) {
      ++left_out_;
      continue;
    }
    writer_.write(record.interface, kEpoch_ns + record.time_ps / kNanosecond_ps, record.outbound,
                  {each.bytes, record.size_B}, record.comment, record.original_B);
    ++frames_;
    ++frames_in_file_;
  }
  std::uint64_t pending_B = 0;
  for (const auto& port : ports_) {
    std::vector<Record> rest;
    std::vector<std::uint8_t> bytes;
    for (Record& record : port->records) {
      if (record.time_ps < time_ps) continue;
      const std::uint8_t* from = port->bytes.data() + record.bytes_at;
      record.bytes_at = bytes.size();
      pending_B += sizeof(Record) + record.size_B + record.comment.size();
      bytes.insert(bytes.end(), from, from + record.size_B);
      rest.push_back(std::move(record));
    }
    port->records = std::move(rest);
    port->bytes = std::move(bytes);
  }
  pending_B_.store(pending_B, std::memory_order_relaxed);
  if (full_ != nullptr) full_->store(false, std::memory_order_relaxed);
}

bool Capture::has_room(std::uint64_t block_B) {
  if (ended_ || failed_) return false;
  // A file has at least one frame, whatever its size.
  if (options_.file_B == 0 || frames_in_file_ == 0 || writer_.size_B() + block_B <= options_.file_B) return true;
  if (options_.files == 0) {
    ended_ = true;
    return false;
  }
  return close_file() && open_next();
}

bool Capture::close_file() {
  const bool written = writer_.close();
  if (!written) file_.discard();
  failed_ = failed_ || !written || !file_.commit();
  return !failed_;
}

bool Capture::open_next() {
  const std::string name = capture_file_name(path_, options_, ++numbered_);
  if (!options_.in_place) file_ = ReplacedFile(name);
  auto writer = pcap::PcapngWriter::create(options_.in_place ? name : file_.temporary(), options_.snaplen_B);
  failed_ = failed_ || !writer;
  if (!writer) return false;
  writer_ = std::move(*writer);
  for (const Interface& each : interfaces_) writer_.add_interface(each.name, each.speed_bps, each.description);
  frames_in_file_ = 0;
  names_.push_back(name);
  while (names_.size() > options_.files) {
    std::error_code ignored;
    fs::remove(names_.front(), ignored);
    names_.pop_front();
  }
  return true;
}

bool Capture::close() {
  flush(kNever_ps);
  return !failed_ && close_file();
}

}  // namespace weft::observe
