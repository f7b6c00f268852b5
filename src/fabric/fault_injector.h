// Decides what the faults of one link direction do to each packet. Rules are tried in the order of the
// lab; a drop ends the matter, the other actions add up. Bit errors are drawn per packet from the rate
// after FEC and its line bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/packet_format.h"
#include "fabric/fault_verdict.h"
#include "spec/fault_rule.h"

namespace weft::fabric {

// When a rule hit its first and its last frame.
struct HitTimes {
  Time_ps first_ps = kNever_ps, last_ps = 0;
};

class FaultInjector {
 public:
  FaultInjector(std::vector<FaultRule> rules, std::uint64_t seed, std::uint64_t link_id, double bit_error_rate);

  FaultVerdict judge(const engine::Packet& packet, const engine::PacketFormats& formats, std::uint32_t line_B,
                     Time_ps time_ps);
  FaultVerdict judge_pause(std::uint32_t line_B, Time_ps time_ps);

  // While the world runs: a rule behind the others, and one that is no more. Those behind it move up.
  void add(FaultRule rule);
  void remove(std::size_t rule);

  // How often each rule hit, in the order of the rules.
  const std::vector<std::uint64_t>& hits() const { return hits_; }
  const std::vector<HitTimes>& hit_times() const { return hit_times_; }
  const std::vector<FaultRule>& rules() const { return rules_; }
  // A cut or a flap has the link down.
  bool holds_link_down(Time_ps time_ps) const;

 private:
  // Requests that leave a QP and acknowledgements of the other side's requests have PSNs of their own. What a PSN is
  // its transport says.
  struct SeenQp {
    std::uint32_t port;  // of the QP
    std::uint32_t endpoint;
    std::optional<std::uint32_t> first_psn[2];  // of requests, of responses
    std::vector<std::uint32_t> transmissions;   // by rule: how often its PSN was seen
  };
  // What a packet is to the rules: the place of its QP (nothing for a notice) and its relative PSN.
  struct Place {
    bool request = false;
    SeenQp* qp = nullptr;
    std::uint32_t qp_index = 0;
    std::uint32_t psn = 0;
  };
  // Rules that select frames ask what a packet is: its transport must have said so.
  static bool selects(const FaultRule& rule) { return rule.frames != FaultFrames::kAny || rule.qp || rule.psn; }
  Place place_of(const engine::Packet& packet, const engine::PacketFormats& formats);
  bool names(const FaultRule& rule, const Place& place) const;
  void add_bit_error(FaultVerdict& verdict, std::uint32_t line_B);
  bool matches(std::size_t rule, const Place& place, Time_ps time_ps);
  void count_hit(std::size_t rule, Time_ps time_ps);

  std::uint64_t seed_, link_id_;
  std::uint64_t streams_ = 0;  // of random numbers that rules were given so far
  std::vector<FaultRule> rules_;
  bool selects_ = false;              // at least one of them
  std::vector<RandomStream> random_;  // one stream per rule
  std::vector<std::uint64_t> hits_;
  std::vector<HitTimes> hit_times_;
  std::vector<SeenQp> seen_;
  RandomStream bit_errors_;
  std::uint64_t bit_error_per_byte_ = 0;  // parts per 1e18
};

}  // namespace weft::fabric
