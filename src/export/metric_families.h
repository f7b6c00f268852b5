// Samples in Prometheus' text format: all of one name lie together, with its help and type before them, by name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace weft::exports {

class MetricFamilies {
 public:
  // `labels` as metric_labels() makes them.
  void add(const std::string& name, std::string_view type, std::string_view help, const std::string& labels,
           const std::string& value);
  std::uint64_t samples() const { return samples_; }
  std::string text() const;

 private:
  std::map<std::string, std::string> families_;
  std::uint64_t samples_ = 0;
};

// instance="h0",port="p0", with what the text format wants escaped.
std::string metric_labels(std::initializer_list<std::pair<std::string_view, std::string_view>> labels);

}  // namespace weft::exports
