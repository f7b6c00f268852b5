// Hand-made frames for the checks of congestion, and an analysis that sees them one by one.
#pragma once

#include <algorithm>
#include <string>

#include "analyze/congestion/congestion.h"

namespace weft::analyze {

inline constexpr std::uint64_t kTestSpeed_bps = 100'000'000'000;

class CongestionBench {
 public:
  explicit CongestionBench(const std::vector<std::string>& names = {"h0:p0"},
                           std::uint64_t speed_bps = kTestSpeed_bps) {
    for (const std::string& name : names) {
      CapturePoint point;
      point.name = name;
      point.speed_bps = speed_bps;
      analysis.capture.points.push_back(point);
    }
    for (std::uint8_t host = 0; host < 8; ++host) addresses.id_of(wire::ipv4_mapped(10, 0, 0, host));
  }

  void see(Frame frame) {
    frame.number = ++analysis.capture.frames;
    if (frame.number == 1) analysis.capture.first_ns = frame.time_ns;
    analysis.capture.last_ns = std::max(analysis.capture.last_ns, frame.time_ns);
    CapturePoint& at = analysis.capture.points[frame.point];
    if (frame.kind != FrameKind::kRoce) {
      ++at.pause_frames;
      return congestion.see_pause(frame);
    }
    at.ce_marked += frame.ce() ? 1 : 0;
    at.cnps += frame.is_cnp() ? 1 : 0;
    congestion.see_roce(frame, streams.see(frame), streams);
  }
  const Findings& finish() {
    congestion.finish(analysis, streams, addresses);
    analysis.findings.sort();
    return analysis.findings;
  }
  // The finding of this kind; null where there is none.
  const Finding* find(std::string_view id) const {
    for (const Finding& finding : analysis.findings.all())
      if (finding.id == id) return &finding;
    return nullptr;
  }
  Verdict verdict(std::string_view check) const {
    for (const CheckResult& result : analysis.findings.checks())
      if (result.check == check) return result.verdict;
    return Verdict::kNotEnough;
  }

  Analysis analysis;
  Streams streams;
  Addresses addresses;
  Congestion congestion{analysis.capture.points};
};

// A WRITE packet of 4096 bytes from host `src` to host `dst`; times in nanoseconds.
inline Frame data_frame(std::int64_t time_ns, AddressId src, AddressId dst, std::uint32_t qp, std::uint32_t psn) {
  Frame frame;
  frame.time_ns = time_ns;
  frame.kind = FrameKind::kRoce;
  frame.opcode = wire::Opcode::kWriteMiddle;
  frame.ip_version = 4;
  frame.tos = 0x6a;
  frame.ttl = 64;
  frame.src = src;
  frame.dst = dst;
  frame.src_mac = 0x100 + src;
  frame.dst_mac = 0x100 + dst;
  frame.src_port = static_cast<std::uint16_t>(0xc000 + qp);
  frame.dst_port = 4791;
  frame.dest_qp = qp;
  frame.psn = psn;
  frame.payload_B = 4096;
  frame.wire_B = 4154;
  frame.mig_req = true;
  frame.direction = Direction::kOut;
  return frame;
}

inline Frame ack_frame(std::int64_t time_ns, AddressId src, AddressId dst, std::uint32_t qp, std::uint32_t psn) {
  Frame frame = data_frame(time_ns, src, dst, qp, psn);
  frame.opcode = wire::Opcode::kAck;
  frame.has_aeth = true;
  frame.payload_B = 0;
  frame.wire_B = 62;
  frame.direction = Direction::kIn;
  return frame;
}

inline Frame cnp_frame(std::int64_t time_ns, AddressId src, AddressId dst, std::uint32_t qp) {
  Frame frame = data_frame(time_ns, src, dst, qp, 0);
  frame.opcode = wire::Opcode::kCnp;
  frame.tos = 0xc2;
  frame.becn = true;
  frame.payload_B = 0;
  frame.wire_B = 74;
  frame.direction = Direction::kIn;
  return frame;
}

inline Frame pfc_frame(std::int64_t time_ns, PointId point, Direction direction, std::uint64_t mac,
                       std::uint16_t quanta, std::uint8_t priority = 3) {
  Frame frame;
  frame.time_ns = time_ns;
  frame.kind = FrameKind::kPfc;
  frame.point = point;
  frame.direction = direction;
  frame.src_mac = mac;
  frame.class_enable = static_cast<std::uint8_t>(1 << priority);
  frame.quanta[priority] = quanta;
  frame.wire_B = 60;
  return frame;
}

}  // namespace weft::analyze
