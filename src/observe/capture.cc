#include "observe/capture.h"

#include <algorithm>
#include <array>

#include "observe/frame_of.h"

namespace weft::observe {

tl::expected<std::unique_ptr<Capture>, std::string> Capture::create(const std::string& path,
                                                                    const fabric::AddressBook& book) {
  auto writer = PcapngWriter::create(path);
  if (!writer) return tl::make_unexpected(writer.error());
  return std::unique_ptr<Capture>(new Capture(std::move(*writer), book));
}

fabric::Tap Capture::add_port(std::uint32_t port, std::int64_t speed_bps, const std::string& description) {
  auto entry = std::make_unique<Port>();
  entry->capture = this;
  entry->interface = writer_.add_interface(book_[port].name, static_cast<std::uint64_t>(speed_bps), description);
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
  std::size_t at = port.bytes.size();
  port.bytes.resize(at + kMaxFrame_B);
  std::size_t size_B = frame_of(frame.packet, frame.domain, port.capture->book_, frame.from, frame.to,
                                std::span(port.bytes).subspan(at));
  port.bytes.resize(at + size_B);
  if (port.mirror && port.mirror->type) size_B = wrap(port, at, size_B, frame);
  std::string text(frame.comment);
  if (frame.outbound && (frame.packet.flags & engine::Packet::kRetransmission) != 0) {
    text = text.empty() ? "weft: retransmission" : "weft: retransmission; " + text;
  }
  port.records.push_back({frame.time_ps, port.interface, frame.outbound, static_cast<std::uint32_t>(size_B),
                          port.next_order++, at, std::move(text)});
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
    writer_.write(record.interface, kEpoch_ns + record.time_ps / kNanosecond_ps, record.outbound,
                  {each.bytes, record.size_B}, record.comment);
  }
  frames_ += due.size();
  for (const auto& port : ports_) {
    std::vector<Record> rest;
    std::vector<std::uint8_t> bytes;
    for (Record& record : port->records) {
      if (record.time_ps < time_ps) continue;
      const std::uint8_t* from = port->bytes.data() + record.bytes_at;
      record.bytes_at = bytes.size();
      bytes.insert(bytes.end(), from, from + record.size_B);
      rest.push_back(std::move(record));
    }
    port->records = std::move(rest);
    port->bytes = std::move(bytes);
  }
}

bool Capture::close() {
  flush(kNever_ps);
  return writer_.close();
}

}  // namespace weft::observe
