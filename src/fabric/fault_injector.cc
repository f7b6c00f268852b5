#include "fabric/fault_injector.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace weft::fabric {

namespace {

using Wide = unsigned __int128;
constexpr std::uint64_t kBitErrorScale = 1'000'000'000'000'000'000ULL;

bool is_down(const FaultRule& rule, Time_ps time_ps) {
  if (time_ps < rule.start_ps || time_ps >= rule.end_ps) return false;
  if (rule.action == FaultAction::kCut) return true;
  return (time_ps - rule.start_ps) % (rule.flap_down_ps + rule.flap_up_ps) < rule.flap_down_ps;
}

}  // namespace

FaultInjector::FaultInjector(std::vector<FaultRule> rules, std::uint64_t seed, std::uint64_t link_id,
                             double bit_error_rate)
    : seed_(seed),
      link_id_(link_id),
      bit_errors_(seed, link_id, RandomPurpose::kBitError),
      bit_error_per_byte_(static_cast<std::uint64_t>(bit_error_rate * 8 * static_cast<double>(kBitErrorScale))) {
  for (FaultRule& rule : rules) add(std::move(rule));
}

void FaultInjector::add(FaultRule rule) {
  rules_.push_back(std::move(rule));
  hits_.push_back(0);
  hit_times_.emplace_back();
  random_.emplace_back(seed_, link_id_ * 1000 + streams_++, RandomPurpose::kFault);
  for (SeenQp& seen : seen_) seen.transmissions.push_back(0);
  selects_ = std::any_of(rules_.begin(), rules_.end(), selects);
}

void FaultInjector::remove(std::size_t rule) {
  WEFT_CHECK(rule < rules_.size(), "a rule that is removed was there");
  const auto at = static_cast<std::ptrdiff_t>(rule);
  rules_.erase(rules_.begin() + at);
  hits_.erase(hits_.begin() + at);
  hit_times_.erase(hit_times_.begin() + at);
  random_.erase(random_.begin() + at);
  for (SeenQp& seen : seen_) seen.transmissions.erase(seen.transmissions.begin() + at);
  selects_ = std::any_of(rules_.begin(), rules_.end(), selects);
}

FaultInjector::Place FaultInjector::place_of(const engine::Packet& packet, const engine::PacketFormats& formats) {
  WEFT_CHECK(!selects_ || formats.formats[packet.transport] != nullptr,
             "fault rules by QP, PSN or kind of frame need a format for each transport (Engine::set_formats)");
  Place place;
  engine::PacketDescription description = formats.describe(packet);
  place.request = description.role == engine::PacketRole::kRequest;
  if (description.role == engine::PacketRole::kNotice) return place;
  auto is_it = [&](const SeenQp& seen) { return seen.endpoint == packet.endpoint && seen.port == packet.dst; };
  place.qp_index = static_cast<std::uint32_t>(std::find_if(seen_.begin(), seen_.end(), is_it) - seen_.begin());
  if (place.qp_index == seen_.size()) {
    seen_.push_back(
        {static_cast<std::uint32_t>(packet.dst), packet.endpoint, {}, std::vector<std::uint32_t>(rules_.size())});
  }
  place.qp = &seen_[place.qp_index];
  std::optional<std::uint32_t>& first = place.qp->first_psn[place.request ? 0 : 1];
  if (!first) first = description.sequence;
  place.psn = (description.sequence - *first) & description.sequence_mask;
  // Every rule counts what it names, whatever the rules before it do to the packet.
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].psn && names(rules_[i], place)) ++place.qp->transmissions[i];
  }
  return place;
}

// Is this the kind of frame, the QP and the PSN that the rule is about?
bool FaultInjector::names(const FaultRule& rule, const Place& place) const {
  if (rule.frames == FaultFrames::kRequest && !place.request) return false;
  if (rule.frames == FaultFrames::kResponse && place.request) return false;
  if ((rule.qp || rule.psn) && place.qp == nullptr) return false;
  return (!rule.qp || *rule.qp == place.qp_index) && (!rule.psn || *rule.psn == place.psn);
}

bool FaultInjector::matches(std::size_t i, const Place& place, Time_ps time_ps) {
  const FaultRule& rule = rules_[i];
  if (!names(rule, place)) return false;
  if (rule.transmission && place.qp->transmissions[i] != *rule.transmission) return false;
  if (time_ps < rule.start_ps || time_ps >= rule.end_ps) return false;
  return !rule.probability_ppb || random_[i].chance_ppb(*rule.probability_ppb);
}

void FaultInjector::count_hit(std::size_t i, Time_ps time_ps) {
  WEFT_DCHECK(i < hits_.size() && hits_.size() == rules_.size(), "hits are counted for each rule");
  ++hits_[i];
  hit_times_[i].first_ps = std::min(hit_times_[i].first_ps, time_ps);
  hit_times_[i].last_ps = std::max(hit_times_[i].last_ps, time_ps);
}

FaultVerdict FaultInjector::judge(const engine::Packet& packet, const engine::PacketFormats& formats,
                                  std::uint32_t line_B, Time_ps time_ps) {
  FaultVerdict verdict;
  auto note = [&](const FaultRule& rule, std::string_view what) {
    verdict.note(fmt::format("weft: {} by fault {}", what, rule.name));
  };
  Place place = rules_.empty() ? Place{} : place_of(packet, formats);
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const FaultRule& rule = rules_[i];
    if (is_of_link(rule.action)) {
      if (!is_down(rule, time_ps)) continue;
      count_hit(i, time_ps);
      verdict.lost = true;
      verdict.loss = Fate::kLinkDown;
      note(rule, "lost, link down");
      return verdict;
    }
    if (is_of_port(rule.action) || !matches(i, place, time_ps)) continue;
    count_hit(i, time_ps);
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
      case FaultAction::kPauseStorm:
      case FaultAction::kSlowReceiver:
        break;
    }
  }
  add_bit_error(verdict, line_B);
  return verdict;
}

void FaultInjector::add_bit_error(FaultVerdict& verdict, std::uint32_t line_B) {
  if (bit_error_per_byte_ == 0 || Wide{bit_errors_.below(kBitErrorScale)} >= Wide{bit_error_per_byte_} * line_B) return;
  verdict.bit_error = true;
  verdict.note("weft: bit error on the cable, bad FCS");
}

FaultVerdict FaultInjector::judge_pause(std::uint32_t line_B, Time_ps time_ps) {
  FaultVerdict verdict;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const FaultRule& rule = rules_[i];
    if (!is_of_link(rule.action) || !is_down(rule, time_ps)) continue;
    count_hit(i, time_ps);
    verdict.lost = true;
    verdict.loss = Fate::kLinkDown;
    verdict.comment = fmt::format("weft: lost, link down by fault {}", rule.name);
    return verdict;
  }
  add_bit_error(verdict, line_B);
  return verdict;
}

bool FaultInjector::holds_link_down(Time_ps time_ps) const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [time_ps](const FaultRule& rule) { return is_of_link(rule.action) && is_down(rule, time_ps); });
}

}  // namespace weft::fabric
