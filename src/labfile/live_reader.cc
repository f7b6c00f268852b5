#include "labfile/live_reader.h"

#include <fmt/format.h>

#include "labfile/reader.h"
#include "labfile/sections.h"
#include "text/yaml_tree.h"

namespace weft::lab {
namespace {

TextError first_of(const std::vector<Problem>& problems) {
  const std::string more = problems.size() > 1 ? fmt::format(" (and {} more)", problems.size() - 1) : "";
  return {problems.front().message + more, problems.front().remedy};
}

tl::expected<YamlNode, TextError> node_of(std::span<const std::string> words) {
  if (words.size() == 1 && words.front().starts_with('{')) {
    ProblemList problems;
    auto node = parse_yaml(words.front(), problems);
    if (!node || !problems.empty()) return tl::unexpected(first_of(problems.take()));
    return std::move(*node);
  }
  YamlNode map;
  map.kind = YamlNode::Kind::kMap;
  map.place = {1, 1};
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == word.npos)
      return tl::unexpected(TextError{fmt::format("{} is not KEY=VALUE", in_quotes(word)),
                                      "write e.g. link=h0:p0 action=drop probability=1%"});
    const std::string key = word.substr(0, equals);
    if (map.find(key) != nullptr)
      return tl::unexpected(TextError{fmt::format("{} is given twice", key), "keep one of them"});
    map.keys.push_back({key, {1, 1}, false});
    YamlNode& value = map.children.emplace_back();
    value.kind = YamlNode::Kind::kScalar;
    value.place = {1, 1};
    value.text = word.substr(equals + 1);
  }
  return map;
}

}  // namespace

tl::expected<FaultConfig, TextError> LiveReader::fault(std::span<const std::string> words, std::uint32_t number) const {
  const auto node = node_of(words);
  if (!node) return tl::unexpected(node.error());
  auto fault = read_fault_of_lab(text_, file_, overrides_, seed_, *node, number - 1);
  if (!fault) return tl::unexpected(first_of(fault.error()));
  return std::move(*fault);
}

tl::expected<Lab, TextError> LiveReader::lab_with(std::span<const std::string> overrides) const {
  std::vector<std::string> all = overrides_;
  all.insert(all.end(), overrides.begin(), overrides.end());
  auto lab = read_lab(text_, file_, all, seed_);
  if (!lab) return tl::unexpected(first_of(lab.error()));
  return std::move(*lab);
}

}  // namespace weft::lab
