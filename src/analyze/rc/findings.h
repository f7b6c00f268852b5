// From conversations to findings of the transport checks. What the requester did is judged at the capture point nearest
// to it, what the responder did at the one nearest to the responder; what was lost on the way, between points.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/findings/finding.h"
#include "analyze/rc/conversations.h"

namespace weft::analyze {

void find_transport_troubles(const RcContext& context, std::span<const RcConversation> conversations,
                             Findings& findings);

namespace detail {

// A finding of one side of one conversation.
struct SideFinding {
  std::string_view id;
  std::string what;
  std::string cause;
  std::uint64_t count = 0;
  std::vector<Evidence> evidence = {};
  std::vector<Remedy> remedies = {};
};

// Collects findings; where many conversations have the same, the worst of them are told and the others counted.
class SideFindings {
 public:
  void add(const std::string& place, SideFinding finding);
  // The second one where the capture shows losses elsewhere.
  void add_either(const std::string& place, SideFinding alone, SideFinding beside_losses);
  void flush(Findings& findings);
  // Is there a finding beyond the first `known` ones that says why packets were retransmitted?
  bool explains_retransmissions(std::size_t known) const;
  std::size_t size() const { return all_.size(); }

 private:
  std::vector<Finding> all_;
  std::vector<std::pair<std::size_t, Finding>> beside_losses_;  // in place of that one of all_
};

// Input for judging one side.
struct SideView {
  const RcContext& context;
  const RcSide& side;
  const std::string& place;
  const std::string& requester_address;
  const std::string& responder_address;

  const RcFlow& requester() const { return side.at_requester(); }
  const RcFlow& responder() const { return side.at_responder(); }
  // Neither spraying nor selective repeat: what comes in another order is a mistake.
  bool in_order() const {
    for (const RcFlow* flow : side.flows)
      if (flow->out_of_order || flow->selective) return false;
    return has_exact_order();
  }
  // False where the frames of a point were sorted by stamps that are not exact, or of another one of its file.
  bool has_exact_order() const;
};

std::uint32_t count_of(const RcFlow& flow, Trouble trouble);
// The first frames of a kind of trouble; `text` with {psn} and {value} (or {hex}) filled in; {packets} and {are} fit
// the number.
std::vector<Evidence> evidence_of(const RcContext& context, const RcFlow& flow, Trouble trouble, std::string_view text);
// "12.3 us", "4.2 ms"
std::string duration_text(std::int64_t ns);
// NIC at fault, as a command line needs it: the words that all remedies for a wrong NIC share.
Remedy firmware_remedy(std::string_view who);

// "; 3 packets were retransmitted (2 after a NAK, 1 after a timeout)"
std::string again_text(const RcFlow& flow);
Remedy capture_remedy();

// A time in which nothing came from one point to the next.
struct Outage {
  std::int64_t from_ns = 0, last_lost_ns = 0, to_ns = 0;  // last packet before, last that was lost, first one after
  std::uint64_t frame = 0;                                // the first one after; 0: none came
  bool both_ways = false;
};
// `lost`: packets of this queue pair, together.
std::vector<Outage> outages_between(const RcContext& context, const RcFlow& before, const RcFlow& after,
                                    std::uint64_t lost);
SideFinding outage_finding(const SideView& view, const RcFlow& before, const RcFlow& after,
                           std::span<const Outage> outages, const std::string& lost);

// Bytes beside the payload in a MIDDLE packet over IPv4: those of its IP packet. An ICMP echo has the second alone.
inline constexpr std::uint32_t kBthAndIcrc_B = 16, kUdpAndIp_B = 28;

// Payloads between two points: the largest that was sent and the largest that came through.
struct SizeLimit {
  std::uint32_t lost_B = 0, passed_B = 0;
  PointId before = 0, after = 0;
  std::uint32_t attempts = 0;
  bool is_response = false;
};
std::optional<SizeLimit> size_limit_of(const SideView& view);
// psn.mtu; true where it explains what was lost.
bool find_size_limit(const SideView& view, SideFindings& out);

void find_losses(const SideView& view, SideFindings& out);  // psn.*
// Packets late, twice or not captured; `lost`: those that were lost before the last point.
void find_disorder(const SideView& view, std::uint64_t lost, SideFindings& out);
void find_timeouts(const SideView& view, SideFindings& out);  // timeout.*, ack.missing
void find_refusals(const SideView& view, SideFindings& out);  // nak.*, rnr.*
void find_broken_rules(const SideView& view,
                       SideFindings& out);                    // packets and answers that the standard does not allow
void find_recovery(const SideView& view, SideFindings& out);  // recovery.*, nak-latency.*, livelock.*

}  // namespace detail
}  // namespace weft::analyze
