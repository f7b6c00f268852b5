// Captures in which nothing is wrong: the analyzer finds nothing in them (notes are allowed).
#include "analyze/planted_case.h"
#include "wire/opcode.h"

namespace weft::planted {
namespace {

using wire::Opcode;
using wire::RoceHeaders;

const std::string kContract = "dscp: 26, priority: 3, ecn: true, cnp_dscp: 48, cnp_priority: 6";
const std::string kHeaders = "--snaplen '128 B'";

std::string lab_file(const std::string& name) {
  return std::string(WEFT_SOURCE_DIR) + "/labs/" + name + ".yaml";
}

// Weft's hosts speak RoCEv2; the same packets as RoCEv1 have a GRH with the addresses as GIDs.
void as_rocev1(EditableCapture& capture) {
  for (Record& record : capture.records) {
    const auto frame = wire::parse_roce_frame(record.bytes);
    if (!frame) continue;
    RoceHeaders headers = frame->headers;
    headers.v4 = false;
    const Payload payload(frame->payload.begin(), frame->payload.end());
    std::vector<std::uint8_t> bytes(wire::rocev1_frame_size_B(headers, payload.size()));
    wire::build_rocev1_frame(headers, payload, bytes);
    record.bytes = std::move(bytes);
  }
}

std::uint8_t other_transport(Opcode opcode, std::uint8_t transport) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(opcode) | transport);
}

// The same messages on unreliable connections: no ACKs.
void as_uc(EditableCapture& capture) {
  std::erase_if(capture.records, [](const Record& each) {
    const auto frame = wire::parse_roce_frame(each.bytes);
    return frame && wire::is_response(frame->headers.opcode);
  });
  for (std::size_t at : capture.find(is_data_request))
    capture.rewrite(at, [](RoceHeaders& headers) {
      headers.opcode = static_cast<Opcode>(other_transport(headers.opcode, wire::kUcTransport));
      headers.ack_req = false;
    });
}

void as_xrc(EditableCapture& capture) {
  for (std::size_t at : capture.find([](const wire::RoceFrame&) { return true; }))
    capture.rewrite(at, [](RoceHeaders& headers) {
      headers.opcode = wire::xrc_opcode(headers.opcode);
      headers.xrc_srq = 0x42;
    });
}

// A capture that was started while READs were on their way.
void begin_in_middle(EditableCapture& capture) {
  capture.records.erase(capture.records.begin(),
                        capture.records.begin() + static_cast<std::ptrdiff_t>(capture.records.size() / 3));
}

void mirrored_by_bridge(EditableCapture& capture) {
  capture.mirror_twice(2'300);
}

// Datagrams to a group: one copy for each member arrives elsewhere, none is answered.
void as_multicast(EditableCapture& capture) {
  for (std::size_t at : capture.find(is_opcode(Opcode::kUdSendOnly)))
    capture.rewrite(at, [](RoceHeaders& headers) {
      headers.dest_qp = 0xffffff;
      headers.dst_ip.back() = 5;
      headers.dst_ip[12] = 239;
      headers.dst_mac = {0x01, 0x00, 0x5e, 0, 0, 5};
    });
}

// Ports, DSCP and CNPs as NICs of others have them: legal, and worth a note.
void unusual_but_legal(EditableCapture& capture) {
  for (std::size_t at : capture.find([](const wire::RoceFrame&) { return true; }))
    capture.rewrite(at, [](RoceHeaders& headers) {
      headers.src_port = headers.opcode == Opcode::kCnp ? 0 : 69;
      if (headers.opcode != Opcode::kCnp) headers.tos &= 3;
      headers.mig_req = true;
    });
}

// A mirror session that copies packets as they come and as they leave: a hop and 800 ns between the two copies.
void mirrored_twice(EditableCapture& capture) {
  const std::size_t all = capture.records.size();
  for (std::size_t i = 0; i < all; ++i) {
    Record copy = capture.records[i];
    copy.time_ns += 800;
    capture.records.push_back(std::move(copy));
    capture.rewrite(capture.records.size() - 1, [](RoceHeaders& headers) { --headers.ttl; });
  }
  capture.sort_by_time();
}

void requests_only(EditableCapture& capture) {
  std::erase_if(capture.records, [](const Record& each) {
    const auto frame = wire::parse_roce_frame(each.bytes);
    return frame && wire::is_response(frame->headers.opcode);
  });
}

// From the middle on the packets come over a longer way.
void rerouted(EditableCapture& capture) {
  const std::vector<std::size_t> all = capture.find(is_data_request);
  for (std::size_t i = all.size() / 2; i < all.size(); ++i)
    capture.rewrite(all[i], [](RoceHeaders& headers) { headers.ttl -= 2; });
}

void source_port_moves(EditableCapture& capture) {
  const std::vector<std::size_t> all = capture.find(is_data_request);
  for (std::size_t i = all.size() / 3; i < all.size(); ++i)
    capture.rewrite(all[i], [](RoceHeaders& headers) { headers.src_port ^= 0x155; });
}

// Each packet with a source port of its own: spraying, no change of the way.
void sprayed_ports(EditableCapture& capture) {
  std::uint16_t port = 0xc000;
  for (std::size_t at : capture.find(is_data_request))
    capture.rewrite(at, [&](RoceHeaders& headers) { headers.src_port = port++; });
}

// Datagrams whose opcode is a manufacturer's own.
void of_manufacturer(EditableCapture& capture) {
  for (std::size_t at : capture.find(is_opcode(Opcode::kUdSendOnly))) {
    capture.byte(at, kBthAt) = 0xc3;
    capture.refresh(at);
  }
}

std::string transfers(const std::vector<std::string>& whats) {
  std::string text = "workloads:\n";
  for (std::size_t i = 0; i < whats.size(); ++i)
    text += "  - {name: w" + std::to_string(i) + ", client: node00, server: node01, transfer: " + whats[i] + "}\n";
  return text;
}

std::string every_verb() {
  std::vector<std::string> whats;
  for (const char* op : {"write", "write-imm", "send", "send-imm", "send-inv", "read"})
    for (const char* size : {"0 B", "1 B", "4097 B", "8190 B", "12291 B"})
      whats.push_back(std::string(op) + ", size: " + size + ", count: 3");
  whats.push_back("fetch-add, count: 5");
  whats.push_back("compare-swap, count: 5");
  return transfers(whats);
}

}  // namespace

std::vector<PlantedCase> healthy_captures() {
  PairLab v6, tagged, selective, credits, small, clear, no_ecn;
  v6.address = "2001:db8::1/64";
  v6.server_address = "2001:db8::2/64";
  tagged.port_extra = ", vlan: 42";
  selective.set = "selective_repeat: true";
  credits.set = "end_to_end_credits: true";
  small.mtu_B = 1500;
  clear.model = "e810-100g";
  for (PairLab* each : {&v6, &tagged, &selective, &credits, &small, &clear}) each->qos = kContract;
  no_ecn.qos = "dscp: 0, priority: 0, ecn: false";
  const std::string writes = pair_lab(transfer("write, size: 16 KiB, count: 20"));
  const std::string incast_ecn =
      "qos: {profile: roce-lossless}\n"
      "workloads:\n  - {name: incast, flows: incast, hosts: all, to: h0, size: 500 kB}\n";
  const std::string sends_ud = pair_lab(transfers({"send, connection: UD, size: 1000 B, count: 40"}));
  const std::string marked =
      pair_lab("faults:\n  - {link: \"node00:p0\", action: ce-mark, frames: request, probability: 2 %}\n" +
                   transfer("write, size: 64 KiB, count: 100"),
               {.qos = kContract});
  const std::vector<std::string> no_expect = {"expect={}"};

  std::vector<PlantedCase> rows;
  auto healthy = [&rows](std::string name, std::string about, std::string lab, std::string ports, Edit edit = nullptr,
                         std::vector<std::string> sets = {}, std::string run_options = "",
                         std::string file = "capture.pcapng") -> PlantedCase& {
    PlantedCase row{std::move(name), std::move(about), std::move(lab), std::move(ports), edit, ""};
    row.sets = std::move(sets);
    row.run_options = std::move(run_options);
    row.file = std::move(file);
    return rows.emplace_back(std::move(row));
  };
  healthy("Writes", "WRITEs on a cable", writes, "all");
  healthy("ReadsFromTheMiddle", "READs, captured from their middle on",
          pair_lab(transfer("read, size: 64 KiB, count: 60")), "node00:p0", begin_in_middle);
  healthy("VerbsIpv4", "every verb, 0 to 3 bytes of padding", pair_lab(every_verb()), "all");
  healthy("VerbsIpv6", "the same over IPv6", pair_lab(every_verb(), v6), "node00:p0");
  healthy("VerbsVlan", "the same with 802.1Q tags", pair_lab(every_verb(), tagged), "node01:p0");
  healthy("VerbsMtu1024", "the same with a path MTU of 1024", pair_lab(every_verb(), small), "node00:p0");
  healthy("RoceV1", "every verb as RoCEv1", pair_lab(every_verb()), "node00:p0", as_rocev1);
  healthy("Datagrams", "UD SENDs", sends_ud, "all");
  healthy("Multicast", "UD SENDs to a group", sends_ud, "node00:p0", as_multicast);
  healthy("Unreliable", "WRITEs on UC", writes, "node00:p0", as_uc);
  healthy("Xrc", "every verb on XRC", pair_lab(every_verb()), "node00:p0", as_xrc);
  healthy("CmConnection", "a connection with its handshake", writes, "node00:p0", add_healthy_handshake);
  healthy(
      "Bidirectional", "perftest both ways, four queue pairs",
      pair_lab("workloads:\n  - {name: w, perftest: write_bw, client: node00, server: node01, args: \"-b -q 4 -s 65536 "
               "-n 20\"}\n  - {name: r, perftest: read_bw, client: node00, server: node01, args: \"-b -s 65536 -n "
               "20\"}\n"),
      "all", nullptr, {}, kHeaders);
  healthy("Latency", "ping-pong of small messages",
          pair_lab("workloads:\n  - {name: w, perftest: write_lat, client: node00, server: node01, args: \"-n 100\"}\n"
                   "  - {name: s, perftest: send_lat, client: node00, server: node01, args: \"-n 100\"}\n"),
          "all");
  healthy("SelectiveRepeat", "NICs with selective repeat, nothing lost",
          pair_lab(transfer("write, size: 64 KiB, count: 20"), selective), "node00:p0");
  healthy("Credits", "end-to-end credits that are kept",
          pair_lab(transfer("send, size: 1000 B, count: 40, depth: 4"), credits), "all");
  healthy("MarksAndCnps", "CE marks, CNPs and a sender that slows down", marked, "all", nullptr, {}, kHeaders).found = {
      "cnp.pacing"};
  healthy("IncastDcqcn", "an incast with ECN, DCQCN and short pauses", switch_lab(9, incast_ecn), "all", nullptr, {},
          kHeaders);
  healthy("IncastSmall", "an incast that the buffer holds", switch_lab(5, incast_ecn), "h0:p0,h1:p0");
  healthy("TcpBesideRdma", "TCP and RDMA on one port", lab_file("host/tcp-beside-rdma"), "h0:p0", nullptr,
          {"expect={}", "workloads[alone].args=-n 10", "workloads[tcp].iperf3=-t 0.004", "workloads[rdma].args=-n 200",
           "workloads[rdma].start=1 ms"},
          kHeaders);
  healthy("Mirrors", "ERSPAN type III and SPAN sessions", lab_file("fabric/telemetry-and-mirrors"), "none", nullptr,
          {"expect={}"}, "", "mirror.pcapng");
  healthy(
      "BridgedMirror", "a mirror session of a bridge that copies each frame twice",
      pair_lab("workloads:\n  - {name: w, perftest: write_bw, client: node00, server: node01, args: \"-q 4 -s 65536 -n "
               "40\"}\n"),
      "node00:p0", mirrored_by_bridge, {}, kHeaders)
      .found = {"capture.twice"};
  healthy("LeafSpine", "an all-to-all over leaves and spines",
          "version: 1\nname: planted\nseed: 1\nfabric:\n  template: leaf-spine\n  hosts: 4\n  leaves: 2\n  spines: 2\n"
          "  switch: sn3700c\n  host: {nic: cx5-100g, mtu: 4200 B}\nqos: {profile: roce-lossless}\n"
          "routing: {balancing: adaptive}\n"
          "workloads:\n  - {name: all, flows: all-to-all, hosts: all, size: 100 kB}\n",
          "all", nullptr, {}, kHeaders);
  healthy("NcclRing", "an all-reduce of nccl-tests on two nodes", lab_file("ai/healthy-2x4"), "all", nullptr,
          {"expect={}", "workloads=[{name: two, nccl: all_reduce_perf -b 1M -e 1M -n 1 -w 0 -g 1}]"}, kHeaders);
  healthy("UnusualButLegal", "source port 69, CNPs with source port 0, DSCP 0", marked, "node01:p0", unusual_but_legal)
      .found = {"path-entropy.source-port", "cnp.source-port"};
  healthy("HeadersOnly", "a capture with a snap length of 64", writes, "node00:p0", nullptr, {}, "--snaplen '64 B'")
      .found = {"capture.snapped"};
  healthy("MigReqClear", "two E810: MigReq 0", pair_lab(transfer("write, size: 16 KiB, count: 20"), clear), "node00:p0")
      .found = {"migreq.clear"};
  healthy("WithoutEcn", "a network without ECN and classes",
          pair_lab(transfer("write, size: 16 KiB, count: 20"), no_ecn), "node00:p0")
      .found = {"traffic-class.no-ecn"};
  healthy("ManufacturerOpcode", "datagrams with opcode 0xc3", sends_ud, "node00:p0", of_manufacturer).found = {
      "integrity.other-opcode"};
  healthy("Rerouted", "packets that come over two more routers from the middle on", writes, "node01:p0", rerouted)
      .found = {"path-entropy.moved"};
  healthy("SourcePortMoves", "a queue pair that goes on from another UDP source port", writes, "node00:p0",
          source_port_moves)
      .found = {"path-entropy.moved"};
  healthy("SprayedPorts", "a source port for each packet", writes, "node00:p0", sprayed_ports);
  healthy("MirroredTwice", "a mirror that copies at both ports of a router", writes, "node00:p0", mirrored_twice)
      .found = {"capture.twice"};
  rows.back().as_pcap = true;
  healthy("MirroredOneWay", "a mirror of one direction", writes, "node00:p0", requests_only).found = {
      "capture.one-way"};
  rows.back().as_pcap = true;
  healthy("MoreStreams", "eight queue pairs, four of them looked into",
          pair_lab("workloads:\n  - {name: w, perftest: write_bw, client: node00, server: node01, args: \"-q 8 -s 4096 "
                   "-n 40\"}\n"),
          "node00:p0")
      .found = {"capture.streams"};
  rows.back().options = "--most-streams 8";
  healthy("UetHealthy", "UET packets and ACKs", "", "", healthy_uet).found = {"uet.seen"};
  return rows;
}

}  // namespace weft::planted
