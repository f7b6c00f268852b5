#include "labfile/live_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "labfile/words.h"
#include "text/units.h"

namespace weft::lab {
namespace {

std::string list_of(std::uint8_t classes) {
  std::vector<int> numbers;
  for (int c = 0; c < 8; ++c) {
    if (classes >> c & 1) numbers.push_back(c);
  }
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string exact_size(std::int64_t size_B) {
  return size_B % 1000 == 0 && size_B > 0 ? fmt::format("{} kB", size_B / 1000) : fmt::format("{} B", size_B);
}

template <class Parameters>
void add(std::span<const ParameterKey<Parameters>> keys, const Parameters& parameters, std::vector<Setting>& settings) {
  for (const auto& key : keys)
    settings.push_back({fmt::format("congestion.{}", key.name), fmt::format("{}", parameters.*key.member)});
}

}  // namespace

std::vector<Setting> settings_of(const fabric::SwitchQos& qos, std::uint8_t pfc) {
  std::vector<Setting> settings;
  for (std::size_t q = 0; q < fabric::kClasses; ++q) {
    const fabric::EcnRamp& ecn = qos.queues[q].ecn;
    const std::string at = fmt::format("queues.{}.", q);
    if (ecn.enabled) {
      settings.push_back({at + "ecn.min", exact_size(ecn.min_B)});
      settings.push_back({at + "ecn.max", exact_size(ecn.max_B)});
      settings.push_back({at + "ecn.probability", format_quantity(ecn.probability_ppb, Quantity::kProbability)});
      settings.push_back({at + "ecn.average", fmt::format("{}", ecn.weight_exponent)});
      settings.push_back({at + "ecn.mark", std::string(word_of(mark_words(), ecn.at_enqueue))});
      settings.push_back({at + "ecn.not_ect", std::string(word_of(not_ect_words(), ecn.drops_not_ect))});
    } else {
      settings.push_back({at + "ecn", "off"});
    }
    settings.push_back({at + "alpha", fmt::format("{}", qos.queues[q].alpha_exponent)});
  }
  for (std::size_t g = 0; g < fabric::kClasses; ++g)
    settings.push_back({fmt::format("groups.{}.alpha", g), fmt::format("{}", qos.groups[g].alpha_exponent)});
  settings.push_back({"pfc.priorities", list_of(qos.pfc_receive_mask & pfc)});
  return settings;
}

std::vector<Setting> settings_of(const nic::PortQos& qos, Time_ps min_time_between_cnps_ps) {
  std::vector<Setting> settings;
  switch (qos.congestion.kind) {
    case nic::CongestionKind::kDcqcn:
      add(dcqcn_keys(), qos.congestion.dcqcn, settings);
      settings.push_back(
          {"congestion.MIN_TIME_BETWEEN_CNPS", fmt::format("{}", min_time_between_cnps_ps / kMicrosecond_ps)});
      settings.push_back({"congestion.ROCE_CC_PRIO_MASK", fmt::format("{}", qos.cc_prio_mask)});
      break;
    case nic::CongestionKind::kHpcc:
      add(hpcc_keys(), qos.congestion.hpcc, settings);
      break;
    case nic::CongestionKind::kTimely:
      add(timely_keys(), qos.congestion.timely, settings);
      break;
    case nic::CongestionKind::kSwift:
      add(swift_keys(), qos.congestion.swift, settings);
      break;
    case nic::CongestionKind::kOff:
      break;
  }
  settings.push_back({"pfc.priorities", list_of(qos.pfc_mask)});
  return settings;
}

bool can_change(std::string_view key, bool is_switch) {
  if (key == "pfc.priorities") return true;
  if (!is_switch) return key.starts_with("congestion.") && key != "congestion.algorithm";
  const bool queue = key.starts_with("queues."), group = key.starts_with("groups.");
  if (!queue && !group) return false;
  key.remove_prefix(std::min(key.find('.', 7), key.size()));
  return key == ".alpha" || (queue && (key == ".ecn" || key.starts_with(".ecn.")));
}

}  // namespace weft::lab
