// The differences between two labs, by the paths that --set takes: workloads[incast].size, qos.queues.3.ecn. Comments,
// the order of keys and the notation of values are ignored.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace weft::study {

struct LabValue {
  std::string text;
  int line = 0;  // 0: it came from --set
};
struct LabDifference {
  std::string path;
  std::optional<LabValue> a, b;  // nothing: missing
};
struct LabText {
  std::string_view text;
  std::span<const std::string> set;
};

// In the order of `a`, then the paths that only `b` has. The error says what cannot be read.
tl::expected<std::vector<LabDifference>, std::string> lab_differences(const LabText& a, const LabText& b);

}  // namespace weft::study
