#include "gear/doctor/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/plural.h"
#include "base/text_table.h"

namespace weft::gear {

namespace {

namespace fs = std::filesystem;
using PairJson = nlohmann::ordered_json;

constexpr std::size_t kLargestResult_B = 4'000'000, kMostPairs = 100'000;

void pair_problem(PairMatrix& matrix, const std::string& file, std::string message, std::string remedy) {
  lab::Problem problem;
  problem.message = std::move(message);
  problem.remedy = std::move(remedy);
  matrix.problems.push_back({file, std::move(problem)});
}

// Client and server of "a--b.json", "a-b.json", "a_b.json".
std::optional<std::pair<std::string, std::string>> ends_of(const std::string& file) {
  const std::string name = fs::path(file).stem().string();
  for (const char* separator : {"--", "_", "-"}) {
    const std::size_t at = name.find(separator);
    const std::size_t size = std::string_view(separator).size();
    if (at == name.npos || at == 0 || at + size >= name.size()) continue;
    if (name.find(separator, at + size) != name.npos) return std::nullopt;
    return std::pair(name.substr(0, at), name.substr(at + size));
  }
  return std::nullopt;
}

double result_number(const nlohmann::json& row, const char* key) {
  const auto it = row.find(key);
  if (it == row.end()) return 0;
  if (it->is_number()) return it->get<double>();
  return it->is_string() ? leading_decimal(it->get<std::string>()).value_or(0) : 0;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Latencies of a fabric come in classes: under one leaf, across the spines. A value that several pairs share is one of
// them, unless one host is in all of these pairs: then the host is slow.
bool is_latency_class(const PairMatrix& matrix, double value_us) {
  constexpr std::size_t kLeastPairs = 4;
  std::size_t near = 0;
  std::map<std::string, std::size_t> pairs_of;
  for (const PairResult& pair : matrix.pairs) {
    if (std::abs(pair.value / value_us - 1) * 100 > PairMatrix::kOddPercent) continue;
    ++near;
    ++pairs_of[pair.client];
    ++pairs_of[pair.server];
  }
  return near >= kLeastPairs &&
         std::none_of(pairs_of.begin(), pairs_of.end(), [near](const auto& each) { return each.second == near; });
}

}  // namespace

bool PairMatrix::healthy() const {
  return std::none_of(pairs.begin(), pairs.end(), [](const PairResult& pair) { return pair.odd; });
}

void add_pair(const std::string& text, const std::string& file, PairMatrix& matrix) {
  const char* const made =
      "make it with perftest: ib_write_bw --report_gbits --out_json --out_json_file=CLIENT-SERVER.json";
  const auto ends = ends_of(file);
  if (!ends)
    return pair_problem(matrix, file, "the name does not say between whom it ran", "name it CLIENT--SERVER.json");
  const nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
  if (result.is_discarded() || !result.is_object() || !result.contains("results"))
    return pair_problem(matrix, file, "not a result of perftest", made);
  // With -a the last row has the largest message.
  const nlohmann::json* row = &result["results"];
  if (row->is_array()) row = row->empty() ? nullptr : &row->back();
  if (row == nullptr || !row->is_object())
    return pair_problem(matrix, file, "a result of perftest without a row", made);
  const bool latency = row->contains("t_typical") || (row->contains("t_avg") && !row->contains("BW_average"));
  const double value = latency ? result_number(*row, row->contains("t_typical") ? "t_typical" : "t_avg")
                               : result_number(*row, "BW_average");
  if (!(value > 0) || !std::isfinite(value))
    return pair_problem(matrix, file, "neither BW_average nor t_typical in the result", made);
  const double size = result_number(*row, "MsgSize");
  const std::uint64_t size_B = size > 0 && size < 1e15 ? static_cast<std::uint64_t>(size) : 0;
  if (matrix.pairs.empty()) {
    matrix.latency = latency;
    matrix.size_B = size_B;
  } else if (matrix.latency != latency || matrix.size_B != size_B) {
    return pair_problem(matrix, file,
                        fmt::format("{} of {} B among results of {} of {} B", latency ? "latency" : "bandwidth", size_B,
                                    matrix.latency ? "latency" : "bandwidth", matrix.size_B),
                        "give each test a directory of its own");
  }
  if (matrix.pairs.size() >= kMostPairs) return pair_problem(matrix, file, "too many results", "");
  const bool twice = std::any_of(matrix.pairs.begin(), matrix.pairs.end(), [&](const PairResult& pair) {
    return pair.client == ends->first && pair.server == ends->second;
  });
  if (twice) return pair_problem(matrix, file, fmt::format("{} -> {} is there twice", ends->first, ends->second), "");
  matrix.pairs.push_back({ends->first, ends->second, file, value, 0, false});
}

void compare_pairs(PairMatrix& matrix, double line_Gbps) {
  // Packets of 4096 B cost 82 B more on the line: headers, FCS, preamble and gap (docs/mechanisms, IPv4 without a
  // VLAN).
  constexpr double kPayloadShare = 4096.0 / (4096 + 82), kMiBpsInGbps = 8 * 1048576 / 1e9;

  std::sort(matrix.pairs.begin(), matrix.pairs.end(), [](const PairResult& a, const PairResult& b) {
    return std::pair(a.client, a.server) < std::pair(b.client, b.server);
  });
  std::vector<double> values;
  std::set<std::string> hosts;
  std::set<std::pair<std::string, std::string>> known;
  for (const PairResult& pair : matrix.pairs) {
    values.push_back(pair.value);
    hosts.insert(pair.client);
    hosts.insert(pair.server);
    known.emplace(pair.client, pair.server);
  }
  matrix.hosts.assign(hosts.begin(), hosts.end());
  matrix.median = median_of(values);
  matrix.expected = matrix.median;
  if (line_Gbps > 0 && !matrix.latency) {
    matrix.expected = line_Gbps * kPayloadShare;
    // No link carries more than its rate: without --report_gbits perftest prints MiB/s.
    if (matrix.median > line_Gbps * 1.05) matrix.expected /= kMiBpsInGbps;
  }
  std::size_t odd = 0;
  std::map<long, bool> is_class;
  for (PairResult& pair : matrix.pairs) {
    pair.deviation_pct = (pair.value / matrix.expected - 1) * 100;
    // Faster than the others is no fault.
    if (matrix.latency && pair.deviation_pct > PairMatrix::kOddPercent) {
      // Once for each half percent: there may be many pairs.
      const auto [judged, is_new] = is_class.emplace(std::lround(std::log(pair.value) * 200), false);
      if (is_new) judged->second = is_latency_class(matrix, pair.value);
      pair.odd = !judged->second;
    } else {
      pair.odd = !matrix.latency && pair.deviation_pct < -PairMatrix::kOddPercent;
    }
    odd += pair.odd ? 1 : 0;
  }
  for (const std::string& host : matrix.hosts) {
    bool all_odd = odd > 0 && odd * 2 < matrix.pairs.size();
    for (const PairResult& pair : matrix.pairs) {
      if (pair.client == host || pair.server == host) all_odd = all_odd && pair.odd;
    }
    if (all_odd) matrix.odd_hosts.push_back(host);
  }
  // One direction of each pair is enough.
  for (std::size_t a = 0; a < matrix.hosts.size(); ++a) {
    for (std::size_t b = a + 1; b < matrix.hosts.size() && matrix.missing.size() < 1000; ++b) {
      if (!known.contains({matrix.hosts[a], matrix.hosts[b]}) && !known.contains({matrix.hosts[b], matrix.hosts[a]}))
        matrix.missing.push_back(matrix.hosts[a] + " -> " + matrix.hosts[b]);
    }
  }
}

PairMatrix read_pairs(const std::string& directory, double line_Gbps) {
  PairMatrix matrix;
  std::error_code error;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    auto text = read_file(path.string(), kLargestResult_B);
    if (text) {
      add_pair(*text, path.string(), matrix);
    } else {
      pair_problem(matrix, path.string(), "cannot be read: " + text.error(), "");
    }
  }
  if (error) {
    pair_problem(matrix, directory, "cannot be read: " + error.message(), "give a directory of perftest results");
  } else if (paths.empty()) {
    pair_problem(matrix, directory, "no .json file in it", "give a directory of perftest results, CLIENT--SERVER.json");
  }
  compare_pairs(matrix, line_Gbps);
  return matrix;
}

std::string pairs_text(const PairMatrix& matrix) {
  std::string out =
      fmt::format("{} of {} B, {}; rows are clients, columns servers; * is odd\n\n",
                  matrix.latency ? "latency" : "bandwidth", matrix.size_B, matrix.latency ? "us" : "Gb/s as measured");
  std::map<std::pair<std::string, std::string>, const PairResult*> cells;
  for (const PairResult& pair : matrix.pairs) cells[{pair.client, pair.server}] = &pair;
  TextTable table;
  table.add_column("");
  for (const std::string& server : matrix.hosts) table.add_column(server + " ");
  for (const std::string& client : matrix.hosts) {
    std::vector<std::string> row = {client};
    for (const std::string& server : matrix.hosts) {
      const auto cell = cells.find({client, server});
      row.push_back(cell == cells.end() ? (client == server ? "- " : ". ")
                                        : fmt::format("{:.2f}{}", cell->second->value, cell->second->odd ? "*" : " "));
    }
    table.add_row(std::move(row));
  }
  out += table.text();
  out += fmt::format("\nmedian {:.2f}{}\n", matrix.median,
                     matrix.expected == matrix.median ? "" : fmt::format(", the line allows {:.2f}", matrix.expected));
  std::size_t odd = 0;
  for (const PairResult& pair : matrix.pairs) {
    if (!pair.odd) continue;
    ++odd;
    out += fmt::format("odd: {} -> {}: {:.2f}, {:+.1f} % ({})\n", pair.client, pair.server, pair.value,
                       pair.deviation_pct, pair.file);
  }
  for (const std::string& host : matrix.odd_hosts)
    out += fmt::format("every pair of {} is odd: look at this host or its cable first (weft doctor on it)\n", host);
  for (const std::string& pair : matrix.missing) out += fmt::format("not measured: {}\n", pair);
  return out + fmt::format("{}: {}\n", counted(matrix.pairs.size(), "pair"),
                           odd == 0 ? "healthy" : fmt::format("{} odd", odd));
}

std::string pairs_json(const PairMatrix& matrix) {
  PairJson out;
  out["healthy"] = matrix.healthy();
  out["what"] = matrix.latency ? "latency_us" : "bandwidth";
  out["size_B"] = matrix.size_B;
  out["median"] = matrix.median;
  out["expected"] = matrix.expected;
  out["hosts"] = matrix.hosts;
  out["odd_hosts"] = matrix.odd_hosts;
  out["missing"] = matrix.missing;
  out["pairs"] = PairJson::array();
  for (const PairResult& pair : matrix.pairs)
    out["pairs"].push_back({{"client", pair.client},
                            {"server", pair.server},
                            {"value", pair.value},
                            {"deviation_pct", std::round(pair.deviation_pct * 100) / 100},
                            {"odd", pair.odd},
                            {"file", pair.file}});
  return out.dump(2, ' ', false, PairJson::error_handler_t::replace) + "\n";
}

}  // namespace weft::gear
