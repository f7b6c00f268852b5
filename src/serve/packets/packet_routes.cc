#include "serve/packets/packet_routes.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "analyze/frames/decode.h"
#include "analyze/show/packet_line.h"
#include "analyze/show/packet_tree.h"
#include "observe/capture.h"
#include "serve/packets/capture_book.h"
#include "serve/packets/flow_ends.h"
#include "serve/packets/message_span.h"
#include "serve/packets/packet_filter.h"
#include "serve/runs/open_run.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostPackets = 5000;
// Frames that one request checks against its filter: a client that continues with `next` sees progress.
constexpr std::uint64_t kMostScanned = 200'000;
constexpr std::int64_t kMostNumber = std::int64_t{1} << 53;

Response json_of_packets(const Json& json) {
  // Comments and names in a capture may be invalid UTF-8.
  return {200, "application/json", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), {}, {}};
}

std::int64_t run_time_ps(std::int64_t time_ns) {
  std::int64_t since_ns = 0, time_ps = 0;
  if (__builtin_sub_overflow(time_ns, observe::Capture::kEpoch_ns, &since_ns) ||
      __builtin_mul_overflow(since_ns, std::int64_t{1000}, &time_ps))
    return 0;
  return time_ps;
}

Json flags_of(const FilteredPacket& packet) {
  Json flags = Json::array();
  if (packet.frame.ip_version != 0 && packet.frame.ce()) flags.push_back("ce");
  if (packet.frame.is_cnp()) flags.push_back("cnp");
  if (packet.sent_again) flags.push_back("retransmitted");
  if (analyze::is_nak(packet.frame)) flags.push_back("nak");
  if (analyze::pauses(packet.frame)) flags.push_back("pause");
  if (packet.frame.icrc == analyze::IcrcState::kBad) flags.push_back("corrupt");
  if (packet.comment.find("weft: lost") != packet.comment.npos) flags.push_back("lost");
  return flags;
}

Json row_of(const FilteredPacket& packet, const pcap::CapturedPacket& captured) {
  const analyze::Frame& frame = packet.frame;
  const analyze::PacketLine line = analyze::packet_line(frame, packet.addresses);
  const bool roce = frame.kind == analyze::FrameKind::kRoce;
  Json row{{"number", frame.number},
           {"time_ps", run_time_ps(captured.time_ns)},
           {"port", packet.port},
           {"direction", captured.outbound ? *captured.outbound ? "out" : "in" : ""},
           {"source", line.source},
           {"destination", line.destination},
           {"protocol", line.protocol},
           {"length_B", frame.wire_B},
           {"info", line.info},
           {"psn", nullptr},
           {"qp", nullptr},
           {"flags", flags_of(packet)},
           {"comment", packet.comment}};
  if (roce) row["qp"] = frame.dest_qp;
  if (roce && !frame.is_cnp()) row["psn"] = frame.psn;
  return row;
}

analyze::Frame begin_frame(const pcap::CapturedPacket& captured, std::uint64_t number) {
  analyze::Frame frame;
  frame.number = number;
  frame.time_ns = captured.time_ns;
  if (captured.outbound) frame.direction = *captured.outbound ? analyze::Direction::kOut : analyze::Direction::kIn;
  return frame;
}

Response list_packets(const Request& request, const IndexedCapture& capture, const std::string& directory) {
  const auto offset = request.number("offset", 0, 0, kMostNumber);
  const auto limit = request.number("limit", 200, 1, kMostPackets);
  const auto from_ps = request.number("from_ps", 0, 0, std::int64_t{1} << 62);
  if (!offset || !limit || !from_ps)
    return problem(400, "offset, limit and from_ps are whole numbers", fmt::format("limit: 1 to {}", kMostPackets));
  if (*from_ps > 0 && *offset > 0) return problem(400, "give either offset or from_ps", "go on with offset=next alone");
  const auto filter = PacketFilter::parse(
      request.text("filter"), [&](const std::string& flow) { return ends_of_flow(request.match[0], directory, flow); });
  if (!filter)
    return problem(400, "filter: " + filter.error(),
                   "ce, cnp, nak, pause, retransmitted, qp==17, ip.src==10.0.0.1; and, or, not, ( )");
  const std::uint64_t frames = capture.index.frames();
  std::uint64_t first = static_cast<std::uint64_t>(*offset) + 1;
  if (*from_ps > 0) first = capture.index.first_at(observe::Capture::kEpoch_ns + *from_ps / 1000);

  Json packets = Json::array();
  const analyze::DecodeOptions scan{filter->asks_for_icrc()};
  analyze::Addresses addresses;
  pcap::FrameReader reader(capture.index, first);
  pcap::CapturedPacket captured;
  std::int64_t first_ns = 0;
  if (pcap::FrameReader start(capture.index, 1); start.next(captured)) first_ns = captured.time_ns;
  std::uint64_t next = first - 1;  // offset of the next: frames checked so far
  while (packets.size() < static_cast<std::size_t>(*limit) && next - (first - 1) < kMostScanned &&
         reader.next(captured)) {
    next = reader.number();
    const pcap::CaptureInterface& interface = reader.interface(captured);
    analyze::Frame frame = begin_frame(captured, reader.number());
    const auto decode_with = [&](const analyze::DecodeOptions& options) {
      analyze::decode(interface.link_type, captured.bytes, captured.original_B, options, addresses, frame);
    };
    const bool sent_again = capture.was_sent_again(reader.number());
    decode_with(filter->empty() ? analyze::DecodeOptions{} : scan);
    const FilteredPacket packet{frame, addresses, interface.name, captured.comment, sent_again, first_ns};
    if (!filter->holds(packet)) continue;
    if (!filter->empty() && !scan.check_icrc) decode_with({});
    packets.push_back(row_of(packet, captured));
  }
  Json answer{{"packets", std::move(packets)},
              {"first", first - 1},
              {"next", nullptr},
              {"total", frames},
              {"problem", capture.index.problem()}};
  if (next < frames) answer["next"] = next;
  return json_of_packets(answer);
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

Response one_packet(const Request& request, const IndexedCapture& capture, const std::string&) {
  const std::string& text = request.match[1];
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size() || number == 0 || number > capture.index.frames())
    return problem(404, fmt::format("there is no packet {}", text),
                   fmt::format("the capture has packets 1 to {}", capture.index.frames()));
  pcap::FrameReader reader(capture.index, number);
  pcap::CapturedPacket captured;
  if (!reader.next(captured)) return problem(404, "the capture has changed", "reload the list");
  const pcap::CaptureInterface& interface = reader.interface(captured);
  analyze::Addresses addresses;
  analyze::Frame frame = begin_frame(captured, number);
  analyze::decode(interface.link_type, captured.bytes, captured.original_B, {}, addresses, frame);
  const FilteredPacket packet{frame, addresses, interface.name, captured.comment, capture.was_sent_again(number)};
  Json answer = row_of(packet, captured);
  const auto tree = analyze::packet_tree(interface.link_type, captured.bytes, captured.original_B);
  answer["layers"] = Json::parse(analyze::packet_tree_json(tree));
  answer["bytes"] = hex_of(captured.bytes);
  answer["original_B"] = captured.original_B;
  answer["speed_bps"] = interface.speed_bps;
  answer["total"] = capture.index.frames();
  answer["message"] = nullptr;
  // The ends of a long message may be far apart: message=0 skips the search.
  if (const auto span = request.text("message") == "0" ? std::nullopt : message_of(capture, number))
    answer["message"] = {{"first", span->first}, {"last", span->last}};
  return json_of_packets(answer);
}

// For a run that exists and has a capture; otherwise the answer is an error with a remedy.
template <typename Answer>
Response with_capture(const Request& request, const RunPlace& place, CaptureBook& book, Answer answer) {
  const auto directory = finished_run(place, request.match[0]);
  if (!directory) return directory.error();
  const auto capture = book.open(*directory);
  if (!capture) return problem(500, capture.error());
  if (*capture == nullptr)
    return problem(404, fmt::format("the run {} has no capture", request.match[0]),
                   "run it with --capture all, or with selected ports: --capture leaf0:swp1");
  return answer(request, **capture, *directory);
}

}  // namespace

void add_packet_routes(Router& router, const RunPlace& place) {
  auto book = std::make_shared<CaptureBook>();
  router.add("GET", "/api/runs/*/packets",
             [&place, book](const Request& request) { return with_capture(request, place, *book, list_packets); });
  router.add("GET", "/api/runs/*/packets/*",
             [&place, book](const Request& request) { return with_capture(request, place, *book, one_packet); });
}

}  // namespace weft::serve
