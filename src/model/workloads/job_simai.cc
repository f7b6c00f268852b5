#include "model/workloads/job_simai.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

namespace weft::workload {
namespace {

using nccl::Collective;

constexpr std::string_view kSimaiKind = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
constexpr std::uint64_t kLongest_ns = 86'400'000'000'000;
constexpr std::uint64_t kMostSimaiBytes = std::uint64_t{1} << 40;
constexpr std::size_t kSimaiFields = 12;

enum class SimaiGroup : std::uint8_t { kTensor, kData, kExpert, kExpertData };

struct Phase {
  std::uint64_t compute_ns = 0;
  std::optional<Collective> collective;
  SimaiGroup group = SimaiGroup::kTensor;
  std::uint64_t size_B = 0;
};
struct Layer {
  std::string name;
  Phase forward, input, weight;
};

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> words_of_line(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kSpace), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

class SimaiReader {
 public:
  SimaiReader(std::string_view text, std::uint32_t ranks) : text_(text), ranks_(ranks) {}

  tl::expected<JobGraph, SimaiProblem> read() {
    read_header();
    if (!problem_) read_layers();
    if (!problem_) make();
    if (problem_) return tl::unexpected(std::move(*problem_));
    return std::move(graph_);
  }

 private:
  void problem(std::string message, std::string remedy) {
    if (!problem_) problem_ = {line_, std::move(message), std::move(remedy)};
  }

  // The next line with words on it; none at the end.
  std::vector<std::string_view> next_line() {
    while (!text_.empty()) {
      ++line_;
      const std::size_t end = text_.find('\n');
      const auto words = words_of_line(text_.substr(0, end));
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      if (!words.empty()) return words;
    }
    return {};
  }

  void read_header() {
    const auto words = next_line();
    if (words.empty() || words[0] != kSimaiKind)
      return problem("not a workload of SimAI", fmt::format("it begins with {}", kSimaiKind));
    std::map<std::string, std::uint64_t, std::less<>> values{{"ep:", 1}, {"pp:", 1}};
    for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
      const auto value = whole_number(words[i + 1]);
      if (!value) break;  // what the last keys say is not needed
      values[std::string(words[i])] = *value;
    }
    for (const char* key : {"model_parallel_NPU_group:", "all_gpus:"}) {
      if (!values.contains(key))
        return problem(fmt::format("the first line has no {}", key), "take it as AICB wrote it");
    }
    if (values["pp:"] != 1)
      return problem(fmt::format("{} pipeline stages", values["pp:"]),
                     "pipelines of SimAI are not modelled: write a job of kind training");
    const std::uint64_t all = values["all_gpus:"], tensor = values["model_parallel_NPU_group:"], expert = values["ep:"];
    if (all != ranks_)
      return problem(fmt::format("the file is of {} GPUs, the hosts have {}", all, ranks_),
                     "set hosts or gpus_per_host");
    if (tensor == 0 || all % tensor != 0 || expert == 0 || all / tensor % expert != 0)
      return problem(fmt::format("{} GPUs in groups of {} and {}", all, tensor, expert), "each divides the next");
    tensor_ = static_cast<std::uint32_t>(tensor);
    expert_ = static_cast<std::uint32_t>(expert);
  }

  void read_layers() {
    const auto words = next_line();
    const auto count = words.size() == 1 ? whole_number(words[0]) : std::nullopt;
    if (!count) return problem("the second line is no number of layers", "take it as AICB wrote it");
    while (!problem_) {
      const auto fields = next_line();
      if (fields.empty()) break;
      read_layer(fields);
    }
    if (!problem_ && layers_.size() != *count)
      problem(fmt::format("{} layers, and the second line says {}", layers_.size(), *count),
              "take it as AICB wrote it");
  }

  void read_layer(const std::vector<std::string_view>& fields) {
    if (fields.size() != kSimaiFields)
      return problem(fmt::format("{} fields", fields.size()),
                     "name, dependency, three times time, communication and bytes, and the time of the update");
    Layer layer;
    layer.name = std::string(fields[0].substr(0, 256));
    layer.forward = read_phase(fields, 2, SimaiGroup::kTensor);
    layer.input = read_phase(fields, 5, SimaiGroup::kTensor);
    layer.weight = read_phase(fields, 8, SimaiGroup::kData);
    if (!problem_) layers_.push_back(std::move(layer));
  }

  Phase read_phase(const std::vector<std::string_view>& fields, std::size_t first, SimaiGroup group) {
    Phase phase;
    const auto time = whole_number(fields[first]), size = whole_number(fields[first + 2]);
    if (!time || !size || *time > kLongest_ns || *size > kMostSimaiBytes) {
      problem(fmt::format("{} {} {}", fields[first], fields[first + 1], fields[first + 2]),
              "a time in ns, a communication and its bytes");
      return phase;
    }
    phase.compute_ns = *time;
    phase.size_B = *size;
    phase.group = group;
    std::string_view what = fields[first + 1];
    const auto ends_with = [&](std::string_view end) {
      if (!what.ends_with(end)) return false;
      what.remove_suffix(end.size());
      return true;
    };
    if (ends_with("_DP_EP")) {
      phase.group = SimaiGroup::kExpertData;
    } else if (ends_with("_EP")) {
      phase.group = SimaiGroup::kExpert;
    }
    constexpr std::pair<std::string_view, Collective> kWords[] = {{"ALLREDUCE", Collective::kAllReduce},
                                                                  {"ALLGATHER", Collective::kAllGather},
                                                                  {"REDUCESCATTER", Collective::kReduceScatter},
                                                                  {"ALLTOALL", Collective::kAlltoAll},
                                                                  {"BROADCAST", Collective::kBroadcast}};
    for (const auto& [word, collective] : kWords) {
      if (word == what) phase.collective = collective;
    }
    if (!phase.collective && what != "NONE")
      problem(fmt::format("communication {}", fields[first + 1]),
              "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, with _EP or _DP_EP");
    return phase;
  }

  // Tensor-parallel ranks are neighbours, experts are spread over the data-parallel ranks.
  void make() {
    graph_.ranks.resize(ranks_);
    const std::uint32_t data = ranks_ / tensor_;
    add_groups("tensor", [&](std::uint32_t rank) { return std::pair(rank / tensor_, tensor_); });
    add_groups("data", [&](std::uint32_t rank) { return std::pair(rank % tensor_, data); });
    add_groups("expert", [&](std::uint32_t rank) {
      return std::pair(rank / tensor_ / expert_ * tensor_ + rank % tensor_, expert_);
    });
    add_groups("expert-data", [&](std::uint32_t rank) {
      return std::pair(rank / tensor_ % expert_ * tensor_ + rank % tensor_, data / expert_);
    });
    JobProgram& program = graph_.programs.emplace_back();
    for (std::uint32_t i = 0; i < layers_.size(); ++i) add_phase(program, i, "forward", layers_[i].forward, true);
    for (auto i = static_cast<std::uint32_t>(layers_.size()); i-- > 0;) {
      add_phase(program, i, "input gradient", layers_[i].input, true);
      add_phase(program, i, "weight gradient", layers_[i].weight, false);
    }
  }

  template <class GroupOf>
  void add_groups(std::string_view name, GroupOf&& group_of) {
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const auto [key, size] = group_of(rank);
      const auto [at, is_new] = numbers.emplace(key, static_cast<std::uint32_t>(graph_.groups.size()));
      if (is_new) graph_.groups.push_back({fmt::format("{}{}", name, numbers.size() - 1), {}});
      graph_.groups[at->second].ranks.push_back(rank);
      graph_.ranks[rank].groups.push_back(at->second);
    }
  }

  void add_phase(JobProgram& program, std::uint32_t layer, std::string_view what, const Phase& phase, bool waits) {
    const auto slot = static_cast<std::uint32_t>(phase.group);
    const std::size_t members = graph_.groups[graph_.ranks[0].groups[slot]].ranks.size();
    std::vector<std::uint32_t> before;
    if (tail_) before.push_back(*tail_);
    JobNode node;
    node.layer = static_cast<std::uint16_t>(std::min<std::uint32_t>(layer + 1, UINT16_MAX));
    node.name = graph_.name_of(fmt::format("{} {}", what, layers_[layer].name));
    node.duration_ps = static_cast<Time_ps>(phase.compute_ns) * kNanosecond_ps;
    tail_ = program.add(node, before);
    if (!phase.collective || phase.size_B == 0 || members < 2) return;
    node.kind = JobNodeKind::kCollective;
    node.collective = *phase.collective;
    node.target = slot;
    node.size_B = phase.size_B;
    node.duration_ps = 0;
    const std::uint32_t computed[] = {*tail_};
    const std::uint32_t talk = program.add(node, computed);
    if (waits) tail_ = talk;
  }

  std::string_view text_;
  std::uint32_t ranks_;
  std::size_t line_ = 0;
  std::uint32_t tensor_ = 1, expert_ = 1;
  std::vector<Layer> layers_;
  JobGraph graph_;
  std::optional<std::uint32_t> tail_;
  std::optional<SimaiProblem> problem_;
};

}  // namespace

tl::expected<JobGraph, SimaiProblem> read_simai(std::string_view text, std::uint32_t ranks) {
  return SimaiReader(text, ranks).read();
}

}  // namespace weft::workload
