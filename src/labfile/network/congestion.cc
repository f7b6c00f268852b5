// qos.congestion: the reaction point of every NIC. DCQCN's keys have the names of mlxconfig, in its units; those of the
// other algorithms the names of nic/congestion.h.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "labfile/sections.h"
#include "model/qos_fields.h"
#include "model/qos_words.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

using nic::CongestionKind;

// Those of the algorithm, beside the keys of all.
bool is_known(std::string_view key, CongestionKind kind) {
  const Section* own = congestion_keys(kind);
  for (const FieldInfo& field : kCongestionKeys.fields) {
    if (field.key == key) return true;
  }
  return own != nullptr && own->find(key) != nullptr;
}

void check_keys(const YamlNode& node, std::string_view algorithm, CongestionKind kind, ProblemList& problems) {
  for (const YamlKey& key : node.keys) {
    if (is_known(key.text, kind)) continue;
    if (kCongestionKeys.find(key.text) != nullptr) {
      problems.add(key.place, fmt::format("{} does not go with algorithm {}", key.text, algorithm),
                   "it is another algorithm's: leave it out, or change the algorithm");
      continue;
    }
    std::vector<std::string_view> known = kCongestionKeys.keys();
    std::erase_if(known, [&](std::string_view each) { return !is_known(each, kind); });
    problems.add(key.place, fmt::format("congestion has no key {}", in_quotes(key.text)),
                 did_you_mean(key.text, known, "keys"));
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
  const std::string_view algorithm = word_of(congestion_words(), congestion.kind);
  check_keys(node, algorithm, congestion.kind, problems);
  if (const YamlNode* value = node.find("parameters")) {
    if (const auto paper = read_choice<bool>(*value, "parameters", dcqcn_set_words(), problems)) {
      congestion.dcqcn = *paper ? nic::dcqcn_paper() : nic::dcqcn_mlx5();
      if (*paper) {  // its notification point: one CNP per flow in N
        contract.min_time_between_cnps_ps = us(50);
        contract.cnp_scope = nic::CnpScope::kQueuePair;
      }
    }
    if (congestion.kind != CongestionKind::kDcqcn) {
      problems.add(value->place, fmt::format("parameters does not go with algorithm {}", algorithm),
                   "only dcqcn has two sets of them");
    }
  }
  const SectionOf<QosContract>* own = congestion_keys(congestion.kind);
  if (own == nullptr) return;
  for (std::string_view key : own->keys()) {
    if (const YamlNode* value = node.find(key)) read_field(*value, *own->find(key), &contract, problems);
  }
}

}  // namespace weft::lab
