// What is wrong with a text that a user wrote: where, what, and what to do about it. Every reader in
// this module collects problems and goes on, so that one run shows all of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::lab {

// A place in the lab file (1-based), or in the value of the n-th --set.
struct Place {
  int line = 0;
  int column = 0;
  int override_index = -1;
};

struct Problem {
  int line = 0;  // 1-based; 0 when the text came from --set
  int column = 0;
  std::string message;
  std::string remedy;
  std::string where;  // "--set links[0].cable.length" when the text came from there, else empty
};

// "lab.yaml:14:9: message" and, on a second line indented by two, the remedy. No final newline.
std::string format_problem(std::string_view file, const Problem& problem);

class ProblemList {
 public:
  explicit ProblemList(std::span<const std::string> overrides = {}) : overrides_(overrides) {}

  void add(const Place& place, std::string message, std::string remedy = "");
  bool empty() const { return problems_.empty(); }
  std::size_t size() const { return problems_.size(); }
  // In line order; those of --set last, in the order given.
  std::vector<Problem> take();

 private:
  std::span<const std::string> overrides_;
  std::vector<Problem> problems_;
};

// The text in double quotes for a message, cut when it is long.
std::string in_quotes(std::string_view text);

}  // namespace weft::lab
