#include "nccl/text/tests_table.h"

#include <fmt/format.h>

namespace weft::nccl {

namespace {

constexpr std::string_view kVersion = "2.19.6";
constexpr std::uint32_t kLibrary = 23007;

// As wide as that, with as many of two decimals as fit.
std::string fitted(double value, int width) {
  int digits = 0;
  for (double power = 1; value >= power; power *= 10) ++digits;
  const int decimals = digits < width - 2 ? 2 : digits < width - 1 ? 1 : 0;
  return fmt::format("{:{}.{}f}", value, width, decimals);
}

std::string place_text(const std::optional<TestMeasure>& measure) {
  if (!measure) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
  const std::string wrong =
      measure->wrong ? fmt::format("{:6g}", static_cast<double>(*measure->wrong)) : fmt::format("{:>6}", "N/A");
  return fmt::format("  {}  {}  {}  {}", fitted(measure->time_us, 7), fitted(measure->algbw, 6),
                     fitted(measure->busbw, 6), wrong);
}

}  // namespace

std::uint64_t TestReport::wrong() const {
  std::uint64_t sum = 0;
  for (const TestRow& row : rows) {
    for (const auto& place : row.places) sum += place ? place->wrong.value_or(0) : 0;
  }
  return sum;
}

double TestReport::average_busbw() const {
  double sum = 0;
  std::size_t count = 0;
  for (const TestRow& row : rows) {
    for (const auto& place : row.places) {
      if (!place) continue;
      sum += place->busbw;
      ++count;
    }
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::string format_header(const TestOptions& options, const TestReport& report) {
  std::string out =
      fmt::format("# nccl-tests version {} nccl-headers={} nccl-library={}\n", kVersion, kLibrary, kLibrary);
  out += fmt::format("# Collective test starting: {}\n", options.program());
  const std::string step = options.step_factor > 1 ? fmt::format("{}(factor)", options.step_factor)
                                                   : fmt::format("{}(bytes)", options.step_B);
  out += fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: {} validation: {} "
      "graph: {} unalign: {}\n#\n# Using devices\n",
      options.threads, options.gpus, options.min_B, options.max_B, step, options.warmup, options.iterations,
      options.aggregated, options.check ? 1 : 0, options.graph, options.unalign);
  for (const TestDevice& device : report.devices)
    out += fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}\n", device.rank, device.group,
                       device.pid, device.host, device.device, device.bus, device.name);
  out += "#\n";
  const std::string_view time = options.cpu_time ? "cputime" : "   time";
  out +=
      "#                                                              out-of-place                       in-place      "
      "    \n";
  out += fmt::format(
      "#       size         count      type   redop    root  {}   algbw   busbw  #wrong  {}   algbw   busbw  #wrong \n",
      time, time);
  out +=
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)  "
      "       \n";
  return out;
}

std::string format_row(const TestRow& row) {
  std::string out =
      fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}", row.size_B, row.count, row.type, row.operation, row.root);
  for (const auto& place : row.places) out += place_text(place);
  return out + "\n";
}

std::string format_footer(const TestOptions& options, const TestReport& report) {
  const std::uint64_t wrong = report.wrong();
  return fmt::format(
      "# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g} \n#\n# Collective test concluded: {}\n", wrong,
      wrong == 0 ? "OK" : "FAILED", report.average_busbw(), options.program());
}

std::string format_tests(const TestOptions& options, const TestReport& report) {
  std::string out = format_header(options, report);
  for (const TestRow& row : report.rows) out += format_row(row);
  return out + format_footer(options, report);
}

}  // namespace weft::nccl
