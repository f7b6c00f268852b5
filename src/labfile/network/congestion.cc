// qos.congestion: the reaction point of every NIC. DCQCN's keys have the names of mlxconfig, in its units; those of the
// other algorithms the names of nic/congestion.h.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "labfile/sections.h"
#include "labfile/words.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

using nic::CongestionKind;

// Every key but these two belongs to one algorithm.
constexpr std::string_view kCommonKeys[] = {"algorithm", "parameters"};

template <class Parameters>
void read_numbers(const YamlNode& node, std::span<const ParameterKey<Parameters>> keys, Parameters& target,
                  ProblemList& problems) {
  for (const auto& key : keys) {
    const YamlNode* value = node.find(key.name);
    if (value != nullptr) store(target.*key.member, read_unsigned(*value, key.name, {key.min, key.max}, problems));
  }
}

template <class Parameters>
std::vector<std::string_view> names_of(std::span<const ParameterKey<Parameters>> keys) {
  std::vector<std::string_view> names(std::begin(kCommonKeys), std::end(kCommonKeys));
  for (const auto& key : keys) names.push_back(key.name);
  return names;
}

std::vector<std::string_view> keys_of(CongestionKind kind) {
  switch (kind) {
    case CongestionKind::kDcqcn: {
      auto names = names_of(dcqcn_keys());
      names.insert(names.end(), {"MIN_TIME_BETWEEN_CNPS", "ROCE_CC_PRIO_MASK"});
      return names;
    }
    case CongestionKind::kHpcc:
      return names_of(hpcc_keys());
    case CongestionKind::kTimely:
      return names_of(timely_keys());
    case CongestionKind::kSwift:
      return names_of(swift_keys());
    case CongestionKind::kOff:
      break;
  }
  return {std::begin(kCommonKeys), std::end(kCommonKeys)};
}

void check_keys(const YamlNode& node, std::string_view algorithm, std::span<const std::string_view> known,
                ProblemList& problems) {
  const auto all = congestion_keys();
  for (const YamlKey& key : node.keys) {
    if (std::find(known.begin(), known.end(), key.text) != known.end()) continue;
    const bool is_other = std::find(all.begin(), all.end(), key.text) != all.end();
    problems.add(key.place,
                 is_other ? fmt::format("{} does not go with algorithm {}", key.text, algorithm)
                          : fmt::format("congestion has no key {}", in_quotes(key.text)),
                 is_other ? "it is another algorithm's: leave it out, or change the algorithm"
                          : did_you_mean(key.text, known, "keys"));
  }
}

}  // namespace

void read_congestion(const YamlNode& node, QosContract& contract, ProblemList& problems) {
  if (!node.is_map()) {
    problems.add(node.place, "congestion is not a map", "write congestion: {algorithm: dcqcn}");
    return;
  }
  nic::CongestionParameters& congestion = contract.host.congestion;
  contract.places.congestion = node.place;
  if (const YamlNode* value = node.find("algorithm"))
    store(congestion.kind, read_choice<CongestionKind>(*value, "algorithm", congestion_words(), problems));
  const auto words = congestion_words();
  const auto word = std::find_if(words.begin(), words.end(), [&](const auto& w) { return w.value == congestion.kind; });
  check_keys(node, word->text, keys_of(congestion.kind), problems);
  if (const YamlNode* value = node.find("parameters")) {
    constexpr Word<bool> kSets[] = {{"mlx5", false}, {"paper", true}};
    if (const auto paper = read_choice<bool>(*value, "parameters", kSets, problems)) {
      congestion.dcqcn = *paper ? nic::dcqcn_paper() : nic::dcqcn_mlx5();
      if (*paper) {  // its notification point: one CNP per flow in N
        contract.min_time_between_cnps_ps = us(50);
        contract.cnp_scope = nic::CnpScope::kQueuePair;
      }
    }
    if (congestion.kind != CongestionKind::kDcqcn) {
      problems.add(value->place, fmt::format("parameters does not go with algorithm {}", word->text),
                   "only dcqcn has two sets of them");
    }
  }
  if (congestion.kind == CongestionKind::kDcqcn) {
    read_numbers(node, dcqcn_keys(), congestion.dcqcn, problems);
    if (const YamlNode* value = node.find("MIN_TIME_BETWEEN_CNPS")) {
      if (const auto time_us = read_unsigned(*value, "MIN_TIME_BETWEEN_CNPS", {0, 4095}, problems))
        contract.min_time_between_cnps_ps = us(static_cast<std::int64_t>(*time_us));
    }
    if (const YamlNode* value = node.find("ROCE_CC_PRIO_MASK"))
      store(contract.host.cc_prio_mask, read_unsigned(*value, "ROCE_CC_PRIO_MASK", {0, 255}, problems));
  } else if (congestion.kind == CongestionKind::kHpcc) {
    read_numbers(node, hpcc_keys(), congestion.hpcc, problems);
  } else if (congestion.kind == CongestionKind::kTimely) {
    read_numbers(node, timely_keys(), congestion.timely, problems);
  } else if (congestion.kind == CongestionKind::kSwift) {
    read_numbers(node, swift_keys(), congestion.swift, problems);
  }
}

}  // namespace weft::lab
