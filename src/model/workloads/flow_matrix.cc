#include "model/workloads/flow_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace weft::workload {

namespace {

constexpr std::uint64_t kMostStart_ps = 1'000'000'000'000'000'000;  // eleven days
constexpr std::uint64_t kMostSize_B = std::uint64_t{1} << 50;
constexpr std::uint64_t kMostId = UINT32_MAX;

constexpr std::string_view kFlowForm = "write: SRC->DST id N start PICOSECONDS size BYTES";

std::optional<std::uint64_t> number(std::string_view word) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// For a message: short, and nothing that a terminal would act upon.
std::string quoted(std::string_view word) {
  constexpr std::size_t kLongest = 40;
  std::string result = "\"";
  for (char c : word.substr(0, kLongest)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (word.size() > kLongest ? "…\"" : "\"");
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;
       at = line.find_first_not_of(kBlank, at)) {
    std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

class Reader {
 public:
  tl::expected<FlowMatrix, std::vector<MatrixProblem>> read(std::string_view text);

 private:
  using Words = std::vector<std::string_view>;

  void problem(int line, std::string message, std::string_view remedy) {
    problems_.push_back({line, std::move(message), std::string(remedy)});
  }
  void read_line(const Words& words);
  void read_header(const Words& words);
  void read_flow(const Words& words);
  void read_ends(std::string_view word, Flow& flow);
  void read_fields(const Words& words, Flow& flow);
  void check_header();

  int line_ = 0;
  FlowMatrix matrix_;
  bool before_nodes_ = false;  // a connection came before them: said once
  int connections_line_ = 0;   // 0: not seen
  std::uint64_t connections_ = 0;
  std::vector<MatrixProblem> problems_;
};

// "Nodes N", "Connections N"; "Triggers 0" and "Failures 0" ask for nothing.
void Reader::read_header(const Words& words) {
  std::optional<std::uint64_t> value = words.size() == 2 ? number(words[1]) : std::nullopt;
  if (!value) return problem(line_, fmt::format("{} without its number", words[0]), "write one number behind it");
  if (words[0] == "Nodes") {
    if (matrix_.nodes != 0) return problem(line_, "Nodes for the second time", "leave one of them out");
    if (*value == 0 || *value > kMostMatrixNodes)
      return problem(line_, fmt::format("{} nodes", *value), fmt::format("1 to {} nodes", kMostMatrixNodes));
    matrix_.nodes = static_cast<std::uint32_t>(*value);
  } else if (words[0] == "Connections") {
    if (connections_line_ != 0) return problem(line_, "Connections for the second time", "leave one of them out");
    connections_line_ = line_;
    connections_ = *value;
  } else if (*value != 0) {
    problem(line_, fmt::format("{} are not modelled", words[0]), "give every connection a start, and leave them out");
  }
}

void Reader::read_ends(std::string_view word, Flow& flow) {
  std::size_t arrow = word.find("->");
  std::optional<std::uint64_t> ends[2] = {number(word.substr(0, arrow)), number(word.substr(arrow + 2))};
  for (const std::optional<std::uint64_t>& end : ends) {
    if (!end) return problem(line_, fmt::format("{} does not name two nodes", quoted(word)), kFlowForm);
    if (*end >= matrix_.nodes) {
      return problem(line_, fmt::format("node {} of {}", *end, matrix_.nodes),
                     fmt::format("nodes are 0 to {}", matrix_.nodes - 1));
    }
  }
  if (*ends[0] == *ends[1])
    return problem(line_, fmt::format("node {} sends to itself", *ends[0]), "name another node");
  flow.source = static_cast<std::uint32_t>(*ends[0]);
  flow.destination = static_cast<std::uint32_t>(*ends[1]);
}

void Reader::read_fields(const Words& words, Flow& flow) {
  struct Field {
    std::string_view name;
    std::uint64_t least, most;
    std::optional<std::uint64_t> value{};
  } fields[] = {{"id", 1, kMostId}, {"start", 0, kMostStart_ps}, {"size", 1, kMostSize_B}};
  for (std::size_t i = 1; i < words.size(); i += 2) {
    auto field = std::find_if(std::begin(fields), std::end(fields), [&](const Field& f) { return f.name == words[i]; });
    if (field == std::end(fields)) {
      return problem(line_, fmt::format("{} is not modelled", quoted(words[i])), kFlowForm);
    }
    if (field->value) return problem(line_, fmt::format("{} for the second time", field->name), kFlowForm);
    field->value = i + 1 < words.size() ? number(words[i + 1]) : std::nullopt;
    if (!field->value || *field->value < field->least || *field->value > field->most) {
      std::string got = i + 1 < words.size() ? quoted(words[i + 1]) : "nothing";
      return problem(line_, fmt::format("{} is {}", field->name, got),
                     fmt::format("a whole number from {} to {}", field->least, field->most));
    }
  }
  for (const Field& field : {fields[1], fields[2]}) {
    if (!field.value) return problem(line_, fmt::format("a connection without {}", field.name), kFlowForm);
  }
  flow.id = static_cast<std::uint32_t>(fields[0].value.value_or(0));
  flow.start_ps = static_cast<Time_ps>(*fields[1].value);
  flow.size_B = *fields[2].value;
}

void Reader::read_flow(const Words& words) {
  std::size_t before = problems_.size();
  Flow flow;
  if (matrix_.nodes == 0) {
    if (!before_nodes_) problem(line_, "a connection before the number of nodes", "begin the file with: Nodes N");
    before_nodes_ = true;
    return;
  }
  read_ends(words[0], flow);
  if (problems_.size() == before) read_fields(words, flow);
  // A wrong one is counted too: one mistake is one problem.
  matrix_.flows.push_back(flow);
}

void Reader::read_line(const Words& words) {
  if (words.empty() || words[0].starts_with('#')) return;
  bool header = words[0] == "Nodes" || words[0] == "Connections" || words[0] == "Triggers" || words[0] == "Failures";
  if (header) return read_header(words);
  if (words[0].find("->") != std::string_view::npos) return read_flow(words);
  bool known = words[0] == "trigger" || words[0] == "failure";
  problem(line_,
          fmt::format("{} {}", quoted(words[0]), known ? "is not modelled" : "is not part of a connection matrix"),
          kFlowForm);
}

void Reader::check_header() {
  if (matrix_.nodes == 0) problem(std::max(line_, 1), "the file ends without Nodes", "begin the file with: Nodes N");
  if (connections_line_ == 0) {
    problem(std::max(line_, 1), "the file ends without Connections",
            fmt::format("add a line: Connections {}", matrix_.flows.size()));
  } else if (matrix_.nodes != 0 && connections_ != matrix_.flows.size()) {
    problem(connections_line_, fmt::format("Connections {}, and there are {}", connections_, matrix_.flows.size()),
            "is the file complete?");
  }
}

tl::expected<FlowMatrix, std::vector<MatrixProblem>> Reader::read(std::string_view text) {
  while (!text.empty() && problems_.size() < kMostMatrixProblems) {
    ++line_;
    std::size_t end = std::min(text.find('\n'), text.size());
    read_line(words_of(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (problems_.empty()) check_header();
  if (!problems_.empty()) return tl::unexpected(std::move(problems_));
  std::stable_sort(matrix_.flows.begin(), matrix_.flows.end(),
                   [](const Flow& a, const Flow& b) { return a.start_ps < b.start_ps; });
  return std::move(matrix_);
}

}  // namespace

tl::expected<FlowMatrix, std::vector<MatrixProblem>> read_flow_matrix(std::string_view text) {
  return Reader().read(text);
}

}  // namespace weft::workload
