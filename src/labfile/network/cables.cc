// cable: its kind, length, rate, FEC, latency and error rate. model/links.cc makes a link of it.
#include <fmt/format.h>

#include "labfile/lab_fields.h"
#include "labfile/sections.h"

namespace weft::lab {
namespace {

constexpr double kMaxBitErrorRate = 1e-3;  // beyond it no frame of any size arrives

std::optional<std::pair<Fec, Place>> read_mode(const YamlNode& fec, ProblemList& problems) {
  if (fec.text == "auto") return std::nullopt;
  std::vector<std::string_view> words = {"auto"};
  for (const auto& word : fec_words()) words.push_back(word.text);
  const auto index = read_word(fec, "fec", words, problems);
  if (!index) return std::nullopt;
  return std::pair(fec_words()[*index - 1].value, fec.place);
}

// A mode, or one for each end in the order of the endpoints.
void read_fec(const YamlNode& fec, CableSpec& cable, ProblemList& problems) {
  if (!fec.is_sequence()) {
    cable.fec = read_mode(fec, problems);
    return;
  }
  if (fec.children.size() != 2) {
    problems.add(fec.place, fmt::format("a cable has two ends, this is fec of {}", fec.children.size()),
                 "write fec: rs528 for both, or fec: [rs528, none] in the order of the endpoints");
    return;
  }
  cable.fec = read_mode(fec.children[0], problems);
  cable.fec_b = read_mode(fec.children[1], problems);
  if (cable.fec.has_value() == cable.fec_b.has_value()) return;
  problems.add(fec.place, "auto at one end alone", "write the mode of each end");
}

}  // namespace

CableSpec read_cable(const YamlNode& node, LabContext& context) {
  ProblemList& problems = context.problems;
  const std::size_t problems_before = problems.size();
  CableSpec cable;
  cable.place = node.place;
  const MapReader map(node, "cable", kCableKeys, problems);
  map.read(kCableKeys, cable);
  if (const YamlNode* length = map.get("length")) {
    const std::int64_t max_mm = context.catalog.cable(cable.kind).max_length_mm;
    if (cable.length_mm > max_mm) {
      problems.add(length->place,
                   fmt::format("a {} of {}: they end at {}", to_string(cable.kind), length->text,
                               format_quantity(max_mm, Quantity::kLength)),
                   cable.kind == CableKind::kDac   ? "use an aoc or fibre"
                   : cable.kind == CableKind::kAoc ? "use a shorter cable, or fibre"
                                                   : "write a shorter length");
    }
  }
  if (const YamlNode* rate = map.get("rate")) {
    if (const auto rate_bps = read_quantity(*rate, "rate", Quantity::kBitRate, {}, problems))
      cable.rate_bps = {*rate_bps, rate->place};
  }
  if (const YamlNode* fec = map.get("fec")) read_fec(*fec, cable, problems);
  if (const YamlNode* rate = map.get("bit_error_rate")) {
    if (cable.bit_error_rate < 0 || cable.bit_error_rate > kMaxBitErrorRate) {
      problems.add(rate->place, fmt::format("bit_error_rate {} is out of range", rate->text),
                   "it goes from 0 to 1e-3, after FEC; a good link has 1e-15");
    }
  }
  cable.good = problems.size() == problems_before;
  return cable;
}

}  // namespace weft::lab
