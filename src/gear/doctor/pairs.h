// weft doctor --pairs DIR: results of perftest between all pairs of hosts, as JSON (--out_json), into a matrix; pairs
// that are more than 5 % below what the line allows, or worse than the median, are odd, and a host whose every pair is
// odd is named.
//
// perftest's JSON does not say between whom it ran: a file's name does, CLIENT-SERVER.json, CLIENT_SERVER.json or
// CLIENT--SERVER.json (the last also where names have dashes).
#pragma once

#include <string>
#include <vector>

#include "gear/bundle/files.h"

namespace weft::gear {

struct PairResult {
  std::string client, server, file;
  double value = 0;  // Gb/s, or microseconds
  double deviation_pct = 0;
  bool odd = false;
};

struct PairMatrix {
  // Within 5 % of each other, as cluster bring-up guides have it.
  static constexpr double kOddPercent = 5;
  bool latency = false;
  std::uint64_t size_B = 0;
  double median = 0;
  double expected =
      0;  // what the pairs are compared with: what the line allows where its rate is given, else the median
  std::vector<PairResult> pairs;       // by client, then server
  std::vector<std::string> hosts;      // sorted
  std::vector<std::string> odd_hosts;  // every pair of theirs is odd, most pairs are not
  std::vector<std::string> missing;    // "a -> b"
  std::vector<FileProblem> problems;

  bool healthy() const;
};

// `line_Gbps` of 0: not given.
PairMatrix read_pairs(const std::string& directory, double line_Gbps);
// One result, as if it were in a file of this name; then the comparison.
void add_pair(const std::string& text, const std::string& file, PairMatrix& matrix);
void compare_pairs(PairMatrix& matrix, double line_Gbps);
std::string pairs_text(const PairMatrix& matrix);
std::string pairs_json(const PairMatrix& matrix);

}  // namespace weft::gear
