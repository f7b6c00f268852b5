#include "analyze/rc/transport.h"

namespace weft::analyze {
namespace {

constexpr std::size_t kIncidentsOfKind = 3;

}  // namespace

const char* name(Verb verb) {
  static constexpr std::array kNames = {"SEND", "SEND_IMM",     "SEND_INV",  "WRITE", "WRITE_IMM",
                                        "READ", "COMPARE_SWAP", "FETCH_ADD", "FLUSH", "ATOMIC_WRITE"};
  return kNames[static_cast<std::size_t>(verb)];
}

const char* name(Cause cause) {
  static constexpr std::array kNames = {"NAK",      "timeout",   "implied NAK", "RNR NAK",
                                        "spurious", "duplicate", "reordered",   "unknown"};
  return kNames[static_cast<std::size_t>(cause)];
}

RcFlow* RcTransport::flow_for(StreamId stream) {
  if (stream >= by_stream_.size()) by_stream_.resize(stream + 1, kNone);
  if (by_stream_[stream] == kNone) {
    if (flows_.size() == kMostFlows) {
      ++flows_left_out_;
      return nullptr;
    }
    by_stream_[stream] = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back().stream = stream;
  }
  return &flows_[by_stream_[stream]];
}

void RcTransport::see(const Frame& frame, StreamId stream, const Streams& streams) {
  if (frame.is_request()) {
    RcFlow* flow = flow_for(stream);
    if (flow == nullptr) return;
    if (frame.has_deth)
      see_datagram(frame, *flow);
    else
      see_request(frame, *flow);
  } else if (wire::is_response(frame.opcode)) {
    const StreamId requests = streams[stream].reverse;
    if (requests == kNone || requests >= by_stream_.size() || by_stream_[requests] == kNone) {
      ++unpaired_answers_;
      if (frame.has_aeth && frame.syndrome >> 5 == 3) ++unpaired_naks_;
      if (frame.has_aeth && frame.syndrome >> 5 == 1) ++unpaired_rnrs_;
      return;
    }
    RcFlow& flow = flows_[by_stream_[requests]];
    if (flow.answers == 0) skip_answers_before(streams[stream], frame, flow);
    see_answer(frame, flow);
  }
}

void RcTransport::end(Streams& streams) {
  for (RcFlow& flow : flows_) {
    if (flow.pass.open) end_pass(PassEnd::kInterrupted, flow);
    end_reads(flow);
    end_order(flow);
    streams[flow.stream].answer_ns = flow.least_rtt_ns;
  }
}

FlowTrouble* RcTransport::trouble_of(RcFlow& flow) {
  if (!flow.trouble && troubles_ < kMostTroubles) {
    ++troubles_;
    flow.trouble = std::make_unique<FlowTrouble>();
  }
  return flow.trouble.get();
}

void RcTransport::note(Trouble trouble, std::uint64_t frame, std::int64_t time_ns, std::uint32_t psn, RcFlow& flow,
                       std::int64_t value) {
  FlowTrouble* all = trouble_of(flow);
  if (all == nullptr) return;
  if (all->count[static_cast<std::size_t>(trouble)]++ < kIncidentsOfKind)
    all->first.push_back({frame, time_ns, value, psn, trouble});
}

void RcTransport::note(Trouble trouble, const Frame& frame, RcFlow& flow, std::int64_t value) {
  note(trouble, frame.number, frame.time_ns, frame.psn, flow, value);
}

void RcTransport::add_latency(std::unique_ptr<LogHistogram>& histogram, std::int64_t ns) {
  if (!histogram) {
    if (histograms_ == kMostHistograms) return;
    ++histograms_;
    histogram = std::make_unique<LogHistogram>();
  }
  histogram->add(ns);
}

}  // namespace weft::analyze
