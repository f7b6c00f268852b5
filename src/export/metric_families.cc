#include "export/metric_families.h"

#include <fmt/format.h>

#include "export/metric_names.h"

namespace weft::exports {

void MetricFamilies::add(const std::string& name, std::string_view type, std::string_view help,
                         const std::string& labels, const std::string& value) {
  std::string& text = families_[name];
  if (text.empty()) text = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  text += labels.empty() ? fmt::format("{} {}\n", name, value) : fmt::format("{}{{{}}} {}\n", name, labels, value);
  ++samples_;
}

std::string MetricFamilies::text() const {
  std::string out;
  for (const auto& [name, text] : families_) out += text;
  return out;
}

std::string metric_labels(std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  std::string text;
  for (const auto& [name, value] : labels)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, label_value(value));
  return text;
}

}  // namespace weft::exports
