// workloads with `perftest`: the name of a test and its flags.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "labfile/lab_fields.h"
#include "labfile/workloads/workload_kind.h"
#include "model/perftest_check.h"

namespace weft::lab {
namespace {

using workload::PerftestOptions;

constexpr std::uint64_t kLargestOfAllSizes_B = 1 << 23;  // perftest -a: 2 .. 2^23

std::optional<PerftestOptions> read_options(const YamlNode& test, WorkloadReading& reading) {
  if (!test.is_scalar()) {
    reading.problems.add(test.place, "perftest is not the name of a test", "write e.g. perftest: write_bw");
    return std::nullopt;
  }
  const std::string_view name =
      std::string_view(test.text).starts_with("ib_") ? std::string_view(test.text).substr(3) : test.text;
  if (!contains(kPerftestWords, name)) {
    reading.problems.add(test.place, fmt::format("there is no perftest {}", in_quotes(test.text)),
                         did_you_mean(name, kPerftestWords, "tests"));
    return std::nullopt;
  }
  const YamlNode* args = reading.map.get("args");
  std::vector<std::string> words;
  if (args != nullptr) {
    const auto text = read_text(*args, "args", reading.problems);
    if (!text) return std::nullopt;
    words = workload::split_words(*text);
  }
  auto options = workload::parse_perftest(name, words);
  const Place& place = args == nullptr ? test.place : args->place;
  if (!options) {
    // One line each: what is wrong; what to do.
    for (const std::string& error : options.error()) {
      const std::size_t split = error.find("; ");
      reading.problems.add(place, error.substr(0, split), split == std::string::npos ? "" : error.substr(split + 2));
    }
    return std::nullopt;
  }
  return *std::move(options);
}

std::optional<TextError> size_problem(const PerftestOptions& options, const WorkloadConfig& workload,
                                      std::string_view metric) {
  const std::size_t dot = metric.find('.');
  if (dot == std::string_view::npos)
    return TextError{fmt::format("{} of which size? {} runs all (-a)", metric, workload.name),
                     fmt::format("write {}.{}.65536", workload.name, metric)};
  const std::uint64_t largest_B = std::min(options.size_B, kLargestOfAllSizes_B);
  const auto size_B = parse_unsigned(metric.substr(dot + 1));
  if (size_B && *size_B >= 2 && *size_B <= largest_B && (*size_B & (*size_B - 1)) == 0) return std::nullopt;
  return TextError{fmt::format("{} is not a size that -a runs", in_quotes(metric.substr(dot + 1))),
                   fmt::format("powers of two from 2 to {}", largest_B)};
}

}  // namespace

const Section& kind_keys(std::type_identity<PerftestOptions>) {
  return kPerftestKeys;
}
std::string_view misfit(std::type_identity<PerftestOptions>, std::string_view) {
  return "perftest takes its own flags, in args";
}

void read_kind(std::type_identity<PerftestOptions>, const YamlNode& node, WorkloadReading& reading) {
  const auto options = read_options(node, reading);
  // Where there is no such device, perftest_problems says so.
  const bool connected = reading.read_ends([&](const PortPair& pair) {
    return options && options->device == device_name(reading.context.lab, pair.client);
  });
  if (connected) {
    reading.read_class();
    reading.read_placement();
    reading.read_cpus();
    reading.read_load();
  }
  if (!options) return;
  reading.workload.options = *options;
  if (!connected) return;
  const YamlNode* args = reading.map.get("args");
  for (TextError& problem : perftest_problems(*options, reading.context.lab, reading.workload))
    reading.problems.add(args == nullptr ? node.place : args->place, std::move(problem.message),
                         std::move(problem.remedy));
  if (options->verb == workload::PerftestVerb::kRead) reading.warn_of_read(node);
}

std::vector<TextError> metric_problems(const PerftestOptions& options, const WorkloadConfig& workload,
                                       std::string_view text) {
  const std::string_view metric = text.substr(0, text.find('.'));
  std::vector<TextError> problems = plain_metric_problems(workload, metric_names(options), metric);
  if (!problems.empty()) return problems;
  if (options.no_peak && metric == "bw_peak_Gbps")
    problems.push_back(
        {"no peak is measured in this run", "-D, -N and more than 20000 iterations turn it off: use bw_average_Gbps"});
  if (options.latency && options.duration_s > 0 && metric != "t_avg_us")
    problems.push_back(
        {fmt::format("with -D a latency test gives no {}", metric), "use t_avg_us, or -n instead of -D"});
  if (options.all_sizes) {
    if (auto problem = size_problem(options, workload, text)) problems.push_back(*std::move(problem));
  } else if (metric != text) {
    problems.push_back(size_after_metric(text));
  }
  return problems;
}

}  // namespace weft::lab
