#include "results/kinds/perftest_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/figures.h"
#include "base/plural.h"
#include "base/text_table.h"
#include "tools/perftest/report.h"

namespace weft::lab {
namespace {

using Json = nlohmann::ordered_json;
using workload::PerftestOptions;

constexpr std::size_t kMostNamed = 20;  // odd pairs in the text; the JSON has all

// As perftest's own tables name what is in the cells.
std::string column_of(const PerftestOptions& options) {
  if (options.latency) return options.duration_s > 0 ? "t_avg[usec]" : "t_typical[usec]";
  return options.report_gbits ? "BW average[Gb/sec]" : "BW average[MB/sec]";
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// What a cell is compared with: every switch on the way adds to a latency and takes nothing from a bandwidth.
std::uint32_t group_of(const PerftestOptions& options, const MatrixCell& cell) {
  return options.latency ? cell.switches : 0;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string grid(const PortPairs& ports, const PerftestMatrix& matrix) {
  std::vector<PortRef> rows, columns;
  for (const MatrixCell& cell : matrix.cells) {
    if (std::find(rows.begin(), rows.end(), cell.pair.client) == rows.end()) rows.push_back(cell.pair.client);
    if (std::find(columns.begin(), columns.end(), cell.pair.server) == columns.end())
      columns.push_back(cell.pair.server);
  }
  const auto in_order = [](const PortRef& a, const PortRef& b) {
    return std::tuple(a.host, a.nic, a.port) < std::tuple(b.host, b.nic, b.port);
  };
  std::sort(rows.begin(), rows.end(), in_order);
  std::sort(columns.begin(), columns.end(), in_order);
  std::vector<std::vector<std::string>> texts(rows.size(), std::vector<std::string>(columns.size(), "-"));
  for (const MatrixCell& cell : matrix.cells) {
    const auto row = std::lower_bound(rows.begin(), rows.end(), cell.pair.client, in_order) - rows.begin();
    const auto column = std::lower_bound(columns.begin(), columns.end(), cell.pair.server, in_order) - columns.begin();
    texts[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] =
        cell.failure.empty() ? fmt::format("{:.2f}", cell.value) : "failed";
  }
  TextTable table;
  table.add_column("", TextTable::Align::kLeft);
  for (const PortRef& port : columns) table.add_column(ports.short_name(port));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    texts[r].insert(texts[r].begin(), ports.short_name(rows[r]));
    table.add_row(std::move(texts[r]));
  }
  return table.text();
}

// What odd pairs have in common: ports all of whose pairs are odd, as client, as server or both, while others are not.
std::vector<std::string> odd_ports(const PortPairs& ports, const PerftestMatrix& matrix) {
  struct Count {
    std::size_t odd = 0, all = 0;
    bool only_odd() const { return all > 0 && odd == all; }
  };
  std::map<std::string, std::array<Count, 2>> counts;  // as client, as server
  std::size_t odd = 0;
  for (const MatrixCell& cell : matrix.cells) {
    odd += cell.odd ? 1 : 0;
    for (const std::size_t role : {0, 1}) {
      Count& count = counts[ports.short_name(role == 0 ? cell.pair.client : cell.pair.server)][role];
      count.odd += cell.odd ? 1 : 0;
      ++count.all;
    }
  }
  std::vector<std::string> names;
  if (odd == matrix.cells.size()) return names;
  for (const auto& [name, roles] : counts) {
    if (roles[0].only_odd() && roles[1].only_odd()) {
      names.push_back(name);
    } else if (roles[0].only_odd() && roles[0].all > 1) {
      names.push_back(name + " as client");
    } else if (roles[1].only_odd() && roles[1].all > 1) {
      names.push_back(name + " as server");
    }
  }
  return names;
}

std::string medians_text(const PerftestMatrix& matrix) {
  std::map<std::uint32_t, std::pair<double, std::size_t>> medians;
  for (const MatrixCell& cell : matrix.cells) {
    if (!cell.failure.empty()) continue;
    auto& [median, count] = medians[group_of(matrix.options, cell)];
    median = cell.median;
    ++count;
  }
  std::string out;
  for (const auto& [switches, group] : medians) {
    const auto& [median, count] = group;
    const std::string over =
        medians.size() < 2 ? "" : fmt::format(" over {} switch{}", switches, switches == 1 ? "" : "es");
    out += fmt::format("median{} {:.2f} ({} pair{})\n", over, median, count, count == 1 ? "" : "s");
  }
  return out;
}

}  // namespace

bool PerftestMatrix::failed() const {
  return std::any_of(cells.begin(), cells.end(), [](const MatrixCell& cell) { return !cell.failure.empty(); });
}

void find_odd(PerftestMatrix& matrix) {
  std::map<std::uint32_t, std::vector<double>> values;
  for (const MatrixCell& cell : matrix.cells) {
    if (cell.failure.empty()) values[group_of(matrix.options, cell)].push_back(cell.value);
  }
  for (MatrixCell& cell : matrix.cells) {
    const auto group = values.find(group_of(matrix.options, cell));
    cell.median = group == values.end() ? 0 : median_of(group->second);
    if (cell.failure.empty() && cell.median > 0) cell.deviation_pct = 100 * (cell.value / cell.median - 1);
    cell.odd = !cell.failure.empty() || std::abs(cell.deviation_pct) > PerftestMatrix::kOddPercent;
  }
}

std::string matrix_text(const PortPairs& ports, const PerftestMatrix& matrix) {
  std::string out = fmt::format("ib_{}", workload::perftest_name(matrix.options));
  for (const std::string& word : matrix.options.words) out += " " + word;
  out += fmt::format(": {}, one pair at a time; clients down, servers across\n\n", column_of(matrix.options));
  out += grid(ports, matrix) + "\n" + medians_text(matrix);
  const auto is_odd = [](const MatrixCell& cell) { return cell.odd; };
  const auto odd = static_cast<std::size_t>(std::count_if(matrix.cells.begin(), matrix.cells.end(), is_odd));
  if (odd == 0) return out + fmt::format("every pair is within {:g} % of it\n", PerftestMatrix::kOddPercent);
  out += fmt::format("{} of {} failed or are more than {:g} % away from the median:\n", odd,
                     counted(matrix.cells.size(), "pair"), PerftestMatrix::kOddPercent);
  std::vector<const MatrixCell*> worst;
  for (const MatrixCell& cell : matrix.cells) {
    if (cell.odd) worst.push_back(&cell);
  }
  std::stable_sort(worst.begin(), worst.end(), [](const MatrixCell* a, const MatrixCell* b) {
    if (a->failure.empty() != b->failure.empty()) return !a->failure.empty();
    return std::abs(a->deviation_pct) > std::abs(b->deviation_pct);
  });
  TextTable named({"", ""}, TextTable::Align::kLeft);
  for (std::size_t i = 0; i < std::min(worst.size(), kMostNamed); ++i) {
    const MatrixCell& cell = *worst[i];
    named.add_row({ports.short_name(cell.pair.client) + " -> " + ports.short_name(cell.pair.server),
                   cell.failure.empty() ? fmt::format("{:.2f}, {}", cell.value, change_text(cell.deviation_pct / 100))
                                        : "failed: " + one_line(cell.failure)});
  }
  out += named.text("  ");
  if (worst.size() > kMostNamed) out += fmt::format("  and {} more\n", worst.size() - kMostNamed);
  for (const std::string& name : odd_ports(ports, matrix)) out += fmt::format("among them every pair with {}\n", name);
  return out;
}

std::string matrix_json(const PortPairs& ports, const PerftestMatrix& matrix) {
  Json j;
  j["test"] = workload::perftest_name(matrix.options);
  j["args"] = matrix.options.words;
  j["value"] = column_of(matrix.options);
  j["odd_percent"] = PerftestMatrix::kOddPercent;
  j["interrupted"] = matrix.interrupted;
  const auto round = [](double value) { return std::round(value * 1000) / 1000; };
  j["pairs"] = Json::array();
  for (const MatrixCell& cell : matrix.cells) {
    Json c;
    c["client"] = ports.short_name(cell.pair.client);
    c["server"] = ports.short_name(cell.pair.server);
    c["switches"] = cell.switches;
    if (cell.failure.empty()) {
      c["value"] = cell.value;
      c["median"] = round(cell.median);
      c["deviation_percent"] = round(cell.deviation_pct);
    } else {
      c["failure"] = one_line(cell.failure);
    }
    c["odd"] = cell.odd;
    j["pairs"].push_back(std::move(c));
  }
  j["odd_ports"] = odd_ports(ports, matrix);
  return j.dump(2) + "\n";
}

}  // namespace weft::lab
