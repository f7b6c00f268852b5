// The outcome of an analysis: what the capture is, who talked to whom, what was found. What report.h and json.h print.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/findings/finding.h"
#include "analyze/findings/table.h"

namespace weft::analyze {

// Pauses of one class at one capture point, in one direction.
struct ClassPause {
  bool sent = false;   // by this port, to stop its peer; otherwise received, and this port was stopped
  std::string sender;  // address of the port that asked, where the capture has no directions
  int priority = 0;    // of PFC; -1: the whole link, 802.3x
  std::uint64_t frames = 0, xoff = 0, xon = 0, pauses = 0, expired = 0;
  std::int64_t paused_ns = 0, longest_ns = 0;
  std::int64_t refresh_ns = -1;  // mean interval at which a pause is repeated; -1: never
  double share = 0;              // of the time of the capture
  // From an XOFF to the last frame of the class, the longest and the mean; -1: none was sent, or pauses are ignored.
  std::int64_t response_ns = -1, response_mean_ns = -1;
  std::int64_t response_limit_ns = 0;  // 802.3 31B.3.7 for the speed of the port
  bool speed_is_estimated = false;
};

struct CapturePoint {
  std::string file;  // its name, with as much of its folder as tells it from the others
  std::string name;  // of the interface; empty in classic pcap
  std::uint64_t speed_bps = 0;
  std::uint16_t link_type = 0;
  std::uint8_t fcs_B = 0;  // at the end of each frame, where the file says so
  std::uint64_t frames = 0, roce = 0;
  std::uint64_t ce_marked = 0, cnps = 0, pause_frames = 0;
  std::vector<ClassPause> pauses{};
  std::string path{};  // of the file, as it was given
};

// How the clock of a file runs against that of another one.
struct ClockSummary {
  std::string file, reference;
  std::int64_t ahead_ns = 0, uncertainty_ns = 0;
  double drift = 0;           // nanoseconds gained in each nanosecond
  std::size_t pieces = 0;     // lines that describe it; 0: the two agree, to within the ways between them
  std::uint64_t packets = 0;  // that both files hold
  bool is_one_way = false;    // packets of one direction: the way is in the offset
  bool is_corrected = false;  // times are by the reference
};

struct CaptureSummary {
  std::vector<CapturePoint> points;
  std::vector<ClockSummary> clocks{};  // of several files
  std::uint64_t frames = 0, roce = 0, uet = 0, pauses = 0, tcp = 0, other = 0, unreadable = 0;
  std::uint64_t captured_B = 0, wire_B = 0;
  std::uint64_t cut_frames = 0;  // snapped
  std::int64_t begin_ns =
      0;  // of frame 1, looked at or not, or AnalyzeOptions::origin_ns: times in reports count from it
  std::int64_t first_ns = 0, last_ns = 0;  // of the frames that were looked at
  std::uint64_t icrc_good = 0, icrc_bad = 0;
  std::uint64_t streams = 0;           // that the checks looked into
  std::uint64_t streams_counted = 0;   // beyond those
  std::uint64_t streams_left_out = 0;  // frames of streams beyond what is kept
};

// A connection (RC, UC, XRC) with both directions, or datagrams from an address to a queue pair. Figures are those of
// the capture point nearest to the sender of the data.
struct Conversation {
  std::string a, b;                   // addresses; a sends the requests (more of them)
  std::optional<std::uint32_t> a_qp;  // unknown where nothing went to it
  std::optional<std::uint32_t> b_qp;
  std::string transport;                                 // "RC", "UC", "UD", "XRC"
  std::vector<std::string> verbs;                        // "WRITE", "SEND", "READ", "FETCH_ADD", ...
  std::uint32_t path_mtu_B = 0;                          // 0: no message of several packets
  std::uint64_t packets = 0, payload_B = 0, wire_B = 0;  // of requests and responses that carry data
  std::uint64_t messages = 0;                            // completed
  bool sizes_known = false;                              // of at least one message
  std::uint64_t message_B_least = 0, message_B_most = 0;
  std::uint64_t goodput_B = 0;           // payload of messages, each byte once, both ways together
  std::uint64_t to_a_B = 0, to_b_B = 0;  // of that, by the way it went; READ responses go to the requester
  double goodput_bps = 0;                // over the time from the first to the last packet
  std::uint64_t retransmitted = 0, cnps = 0, ce_marked = 0, naks = 0;
  std::int64_t ack_latency_p50_ns = -1, ack_latency_p99_ns = -1;          // packet with AckReq to its ACK; -1: none
  std::int64_t message_latency_p50_ns = -1, message_latency_p99_ns = -1;  // first packet to the last ACK or response
  std::int64_t first_ns = 0, last_ns = 0;
  std::uint64_t first_frame = 0;
  int points = 1;         // capture points that saw it
  std::int8_t dscp = -1;  // of its data; -1: none
  std::int8_t ect = -1;   // of its data: 1 ECT or CE, 0 not-ECT; -1: none
};

struct Analysis {
  CaptureSummary capture;
  std::vector<Conversation> conversations;  // most data first
  Findings findings;
  std::vector<Table> tables{};
  std::vector<std::string> counters_without_frames{};  // addresses of --counters that the capture does not have
};

// "10.0.0.1 > 10.0.0.2 qp 0x1a": how findings name a conversation; the same text at every capture point.
std::string place_of(const Conversation& conversation);

// Leaves only what is about the flows that `flow` names: words that a place has in this order, "10.0.0.1 > 10.0.0.2",
// "10.0.0.2 qp 0x108". False when there is none; then nothing is changed.
bool keep_flow(const std::string& flow, Analysis& analysis);

std::string analysis_text(const Analysis& analysis);
std::string analysis_json(const Analysis& analysis);

}  // namespace weft::analyze
