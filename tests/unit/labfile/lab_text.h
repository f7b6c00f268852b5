// A good lab as text, to break in one place, and the problems that come out of it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "labfile/reader.h"

namespace weft::lab {

inline constexpr std::string_view kGoodLab = R"(version: 1
name: good
nodes:
  vm00:
    kind: host
    nics:
      - model: cx4-lx-25g
        ports:
          p0: {address: 10.0.0.1/24, mtu: 4200 B}
          p1: {address: 10.0.1.1/24}
  vm01:
    kind: host
    nics:
      - model: cx4-lx-25g
        ports:
          p0: {address: 10.0.0.2/24, mtu: 4200 B}
          p1: {address: 10.0.1.2/24}
links:
  - endpoints: ["vm00:p0", "vm01:p0"]
workloads:
  - {name: bw, perftest: write_bw, client: vm00, server: vm01}
  - {name: w, transfer: write, client: vm00, server: vm01}
)";

inline std::string good_lab_with(std::string_view old_text, std::string_view new_text) {
  std::string text(kGoodLab);
  const std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << "the good lab has no " << old_text;
  if (at != std::string::npos) text.replace(at, old_text.size(), new_text);
  return text;
}
inline std::string good_lab_and(std::string_view more) {
  return std::string(kGoodLab) + std::string(more);
}

// "line:column message | remedy"; "--set path message | remedy" for overrides.
inline std::vector<std::string> problems_of(std::string_view text, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> lines;
  const auto lab = read_lab(text, "lab.yaml", overrides);
  if (lab) return lines;
  for (const Problem& p : lab.error()) {
    lines.push_back(fmt::format("{} {} | {}", p.where.empty() ? fmt::format("{}:{}", p.line, p.column) : p.where,
                                p.message, p.remedy));
  }
  return lines;
}

// Exactly one problem, which begins with `expected`.
inline void expect_problem(std::string_view text, std::string_view expected,
                           const std::vector<std::string>& overrides = {}) {
  const std::vector<std::string> problems = problems_of(text, overrides);
  ASSERT_EQ(problems.size(), 1U) << "wanted " << expected << "\n"
                                 << fmt::format("{}", fmt::join(problems, "\n")) << "\n"
                                 << text;
  EXPECT_EQ(problems[0].substr(0, expected.size()), expected) << problems[0] << "\n" << text;
}

inline Lab read_good(std::string_view text, const std::vector<std::string>& overrides = {}) {
  auto lab = read_lab(text, "lab.yaml", overrides);
  EXPECT_TRUE(lab.has_value()) << fmt::format("{}", fmt::join(problems_of(text, overrides), "\n"));
  return lab ? *lab : Lab{};
}

inline std::string read_source_file(const std::string& path) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/" + path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace weft::lab
