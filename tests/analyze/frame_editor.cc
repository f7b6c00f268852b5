#include "analyze/frame_editor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "interop/interop_support.h"
#include "pcap/link_type.h"
#include "pcap/pcap_reader.h"
#include "pcap/pcapng.h"
#include "support/bytes.h"
#include "support/capture_builder.h"
#include "wire/bytes.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

namespace weft::planted {

using wire::Opcode;

EditableCapture EditableCapture::read(const std::string& path) {
  EditableCapture edited;
  const std::string text = support::read_file(path);
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  const auto file = pcap::read_capture(bytes);
  if (!file) {
    ADD_FAILURE() << path << ": " << file.error().message;
    return edited;
  }
  for (const pcap::CaptureInterface& each : file->interfaces)
    edited.interfaces.push_back({std::string(each.name), each.speed_bps});
  for (const pcap::CapturedPacket& each : file->packets) {
    edited.records.push_back({each.time_ns,
                              each.interface,
                              each.outbound.value_or(false),
                              {each.bytes.begin(), each.bytes.end()},
                              each.original_B == each.bytes.size() ? 0 : each.original_B});
  }
  return edited;
}

void EditableCapture::write(const std::string& path) const {
  auto writer = pcap::PcapngWriter::create(path);
  ASSERT_TRUE(writer.has_value()) << path << ": " << writer.error();
  for (const Interface& each : interfaces) writer->add_interface(each.name, each.speed_bps);
  for (const Record& each : records)
    writer->write(each.interface, each.time_ns, each.outbound, each.bytes, {}, each.original_B);
  EXPECT_TRUE(writer->close()) << path;
}

void EditableCapture::write_pcap(const std::string& path) const {
  support::CaptureBuilder file;
  file.u32(0xa1b23c4d).u16(2).u16(4).u32(0).u32(0).u32(262144).u32(pcap::kLinkTypeEthernet);
  for (const Record& each : records) {
    constexpr std::int64_t kSecond_ns = 1'000'000'000;
    file.u32(each.time_ns / kSecond_ns).u32(each.time_ns % kSecond_ns);
    file.u32(each.bytes.size()).u32(each.original_B == 0 ? each.bytes.size() : each.original_B);
    file.bytes.insert(file.bytes.end(), each.bytes.begin(), each.bytes.end());
  }
  interop::write_bytes(path, file.bytes.data(), file.bytes.size());
}

std::vector<std::size_t> EditableCapture::find(const Wanted& wanted) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto parsed = wire::parse_roce_frame(records[i].bytes);
    if (parsed && wanted(*parsed)) found.push_back(i);
  }
  return found;
}

std::size_t EditableCapture::find_nth(const Wanted& wanted, std::size_t n) const {
  const std::vector<std::size_t> found = find(wanted);
  EXPECT_GT(found.size(), n) << "the capture has no such frame";
  return found.size() > n ? found[n] : 0;
}

wire::RoceFrame EditableCapture::frame(std::size_t record) const {
  const auto parsed = wire::parse_roce_frame(records[record].bytes);
  EXPECT_TRUE(parsed.has_value()) << "record " << record << " is not RoCE";
  return parsed ? *parsed : wire::RoceFrame{};
}

void EditableCapture::rewrite_all(std::size_t record, const std::function<void(wire::RoceHeaders&, Payload&)>& change) {
  const wire::RoceFrame old = frame(record);
  wire::RoceHeaders headers = old.headers;
  Payload payload(old.payload.begin(), old.payload.end());
  change(headers, payload);
  std::vector<std::uint8_t> bytes(wire::roce_frame_size_B(headers, payload.size()));
  bytes.resize(wire::build_roce_frame(headers, payload, bytes));
  records[record].bytes = std::move(bytes);
  records[record].original_B = 0;
}

void EditableCapture::rewrite(std::size_t record, const std::function<void(wire::RoceHeaders&)>& change) {
  rewrite_all(record, [&](wire::RoceHeaders& headers, Payload&) { change(headers); });
}

void EditableCapture::refresh(std::size_t record) {
  std::vector<std::uint8_t>& bytes = records[record].bytes;
  ASSERT_GE(bytes.size(), kBthAt + wire::kBthSize_B + 4);
  bytes[kIpAt + 10] = bytes[kIpAt + 11] = 0;
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 20; i += 2) sum += std::uint32_t{bytes[kIpAt + i]} << 8 | bytes[kIpAt + i + 1];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  wire::put_be16(wire::MutableBytes(bytes), kIpAt + 10, static_cast<std::uint16_t>(~sum));
  const std::size_t icrc_at = bytes.size() - 4;
  wire::put_le32(wire::MutableBytes(bytes), icrc_at, wire::icrc(wire::Bytes(bytes).subspan(kIpAt, icrc_at - kIpAt)));
}

void EditableCapture::erase(std::size_t record) {
  records.erase(records.begin() + static_cast<std::ptrdiff_t>(record));
}

void EditableCapture::insert_copy(std::size_t record, std::int64_t later_ns) {
  Record copy = records[record];
  copy.time_ns += later_ns;
  insert(std::move(copy));
}

void EditableCapture::insert(Record record) {
  const auto later = std::upper_bound(records.begin(), records.end(), record.time_ns,
                                      [](std::int64_t time_ns, const Record& each) { return time_ns < each.time_ns; });
  records.insert(later, std::move(record));
}

void EditableCapture::delay_from(std::size_t record, std::int64_t by_ns) {
  for (std::size_t i = record; i < records.size(); ++i) records[i].time_ns += by_ns;
}

void EditableCapture::mirror_twice(std::int64_t later_ns) {
  const std::size_t frames = records.size();
  for (std::size_t i = 0; i < frames; ++i) {
    records[i].outbound = false;
    Record copy = records[i];
    copy.time_ns += later_ns;
    records.push_back(std::move(copy));
  }
  sort_by_time();
}

void EditableCapture::sort_by_time() {
  std::stable_sort(records.begin(), records.end(),
                   [](const Record& a, const Record& b) { return a.time_ns < b.time_ns; });
}

void EditableCapture::cut_frames(std::size_t snap_B) {
  for (Record& each : records) {
    if (each.bytes.size() <= snap_B) continue;
    if (each.original_B == 0) each.original_B = each.bytes.size();
    each.bytes.resize(snap_B);
  }
}

Wanted is_opcode(Opcode opcode) {
  return [opcode](const wire::RoceFrame& frame) { return frame.headers.opcode == opcode; };
}

bool is_nak(const wire::RoceFrame& frame) {
  return frame.headers.opcode == Opcode::kAck && frame.headers.aeth_syndrome >= 0x60;
}

bool is_positive_ack(const wire::RoceFrame& frame) {
  return frame.headers.opcode == Opcode::kAck && frame.headers.aeth_syndrome < 0x20;
}

bool is_data_request(const wire::RoceFrame& frame) {
  return wire::is_request(frame.headers.opcode) && wire::has_payload(frame.headers.opcode);
}

}  // namespace weft::planted
