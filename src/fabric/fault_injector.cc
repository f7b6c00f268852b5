#include "fabric/fault_injector.h"

#include <fmt/format.h>

#include "wire/opcode.h"

namespace weft::fabric {

namespace {

using Wide = unsigned __int128;
constexpr std::uint64_t kBitErrorScale = 1'000'000'000'000'000'000ULL;
constexpr std::uint32_t kPsnMask = 0xffffff;

bool is_down(const FaultRule& rule, Time_ps time_ps) {
  if (time_ps < rule.start_ps || time_ps >= rule.end_ps) return false;
  if (rule.action == FaultAction::kCut) return true;
  return (time_ps - rule.start_ps) % (rule.flap_down_ps + rule.flap_up_ps) < rule.flap_down_ps;
}

}  // namespace

FaultInjector::FaultInjector(std::vector<FaultRule> rules, std::uint64_t seed, std::uint64_t link_id, double bit_error_rate)
    : rules_(std::move(rules)),
      psn_seen_(rules_.size()),
      hits_(rules_.size()),
      bit_errors_(seed, link_id, RandomPurpose::kBitError),
      bit_error_per_byte_(static_cast<std::uint64_t>(bit_error_rate * 8 * static_cast<double>(kBitErrorScale))) {
  for (std::size_t i = 0; i < rules_.size(); ++i) random_.emplace_back(seed, link_id * 1000 + i, RandomPurpose::kFault);
}

std::uint32_t FaultInjector::qp_index(const engine::Packet& packet) {
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].dest_qp == packet.dest_qp) return i;
  }
  seen_.push_back({packet.dest_qp, packet.psn});
  return static_cast<std::uint32_t>(seen_.size() - 1);
}

bool FaultInjector::matches(std::size_t i, const engine::Packet& packet, std::uint32_t qp, Time_ps time_ps) {
  const FaultRule& rule = rules_[i];
  bool request = wire::is_request(static_cast<wire::Opcode>(packet.opcode));
  if (rule.frames == FaultFrames::kRequest && !request) return false;
  if (rule.frames == FaultFrames::kResponse && request) return false;
  if (rule.qp && *rule.qp != qp) return false;
  if (rule.psn) {
    if (((packet.psn - seen_[qp].first_psn) & kPsnMask) != *rule.psn) return false;
    ++psn_seen_[i];
    if (rule.transmission && psn_seen_[i] != *rule.transmission) return false;
  }
  if (time_ps < rule.start_ps || time_ps >= rule.end_ps) return false;
  return !rule.probability_ppb || random_[i].chance_ppb(*rule.probability_ppb);
}

FaultVerdict FaultInjector::judge(const engine::Packet& packet, std::uint32_t line_B, Time_ps time_ps) {
  FaultVerdict verdict;
  auto note = [&](const FaultRule& rule, std::string_view what) {
    if (!verdict.comment.empty()) verdict.comment += "; ";
    verdict.comment += fmt::format("weft: {} by fault {}", what, rule.name);
  };
  std::uint32_t qp = rules_.empty() ? 0 : qp_index(packet);
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const FaultRule& rule = rules_[i];
    if (rule.action == FaultAction::kCut || rule.action == FaultAction::kFlap) {
      if (!is_down(rule, time_ps)) continue;
      ++hits_[i];
      verdict.lost = true;
      verdict.loss = Fate::kLinkDown;
      note(rule, "lost, link down");
      return verdict;
    }
    if (!matches(i, packet, qp, time_ps)) continue;
    ++hits_[i];
    switch (rule.action) {
      case FaultAction::kDrop:
        verdict.lost = true;
        verdict.loss = Fate::kFaultDrop;
        note(rule, "dropped");
        return verdict;
      case FaultAction::kCorrupt:
        verdict.corrupt = true;
        note(rule, "corrupted (bad ICRC, good FCS)");
        break;
      case FaultAction::kCeMark:
        verdict.ce_mark = true;
        note(rule, "CE-marked");
        break;
      case FaultAction::kDelay:
        verdict.delay_ps += rule.delay_ps;
        note(rule, fmt::format("delayed {} ns", rule.delay_ps / kNanosecond_ps));
        break;
      case FaultAction::kDuplicate:
        verdict.duplicate = true;
        verdict.duplicate_delay_ps = rule.delay_ps;
        note(rule, "duplicated");
        break;
      case FaultAction::kCut:
      case FaultAction::kFlap:
        break;
    }
  }
  if (bit_error_per_byte_ != 0 && Wide{bit_errors_.below(kBitErrorScale)} < Wide{bit_error_per_byte_} * line_B) {
    verdict.bit_error = true;
    if (!verdict.comment.empty()) verdict.comment += "; ";
    verdict.comment += "weft: bit error on the cable, bad FCS";
  }
  return verdict;
}

}  // namespace weft::fabric
