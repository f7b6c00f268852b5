// workloads with `job`: training steps from model and parallelism, and traces of real ones.
#include "labfile/workloads/jobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "labfile/lab_fields.h"
#include "labfile/workloads/workload_kind.h"
#include "model/nccl_job.h"
#include "model/workloads/job_check.h"
#include "model/workloads/job_training.h"
#include "nccl/decide/environment.h"

namespace weft::lab {
namespace {

using workload::JobOptions;
using workload::TrainingOptions;

constexpr std::uint64_t kMostRanks = 65'536;
constexpr std::uint64_t kMostNodes = 50'000'000;  // of all ranks and steps
constexpr double kDefaultEfficiency = 0.45;

class JobReader {
 public:
  JobReader(const YamlNode& node, WorkloadReading& reading)
      : node_(node),
        context_(reading.context),
        problems_(reading.problems),
        workload_(reading.workload),
        map_(node, "job", kJobKeys, reading.problems) {}

  void read() {
    if (!map_.ok()) return;
    const std::size_t problems_before = problems_.size();
    const YamlNode* kind = map_.require("kind");
    const auto what =
        kind == nullptr ? std::nullopt : read_choice<JobKind>(*kind, "kind", std::span(kJobKindWords), problems_);
    if (!what) return;
    check_keys(*what);
    read_hosts();
    read_environment();
    map_.read(kJobKeys, options_);
    read_rate();
    if (problems_.size() != problems_before) return;
    std::optional<workload::JobGraph> graph;
    if (*what == JobKind::kChakra || *what == JobKind::kSimai) {
      graph = read_trace(*what);
    } else {
      graph = read_training(*what == JobKind::kInference);
    }
    if (!graph || problems_.size() != problems_before || !check_size(*graph)) return;
    scale_compute(*graph);
    for (const workload::JobProblem& problem : workload::settle_job(*graph))
      problems_.add(node_.place, problem.message, problem.remedy);
    if (problems_.size() != problems_before) return;
    options_.graph = std::make_shared<const workload::JobGraph>(std::move(*graph));
    workload_.options = std::move(options_);
  }

 private:
  void check_keys(JobKind kind) {
    const bool trace = kind == JobKind::kChakra || kind == JobKind::kSimai;
    for (const Section* part : kJobKeys.parts) {
      if (part == &kJobTraceKeys ? trace : part == &kJobTrainingKeys ? !trace : kind == JobKind::kTraining) continue;
      for (std::string_view key : part->keys()) forbid(key, trace);
    }
    if (trace) map_.require("file", kind == JobKind::kChakra ? "file: traces/step" : "file: workload.txt");
    if (!trace) map_.require("model", "model: {layers: 24, hidden: 2048, sequence: 2048}");
  }

  void forbid(std::string_view key, bool trace) {
    if (const YamlNode* node = map_.get(key))
      problems_.add(node->place, fmt::format("{} does not go with kind {}", key, map_.get("kind")->text),
                    trace ? "a trace has it inside" : "leave it out");
  }

  void add_host(std::uint32_t host, const Place& place) {
    if (context_.lab.hosts[host].places.gpus.empty()) {
      problems_.add(place, fmt::format("{} has no GPUs", context_.lab.hosts[host].name),
                    "add gpus to the node, or leave it out of the job's hosts");
      return;
    }
    if (std::find(options_.hosts.begin(), options_.hosts.end(), host) == options_.hosts.end())
      options_.hosts.push_back(host);
  }

  void read_host_name(const YamlNode& node) {
    const auto text = read_text(node, "hosts", problems_);
    if (!text) return;
    const std::size_t dots = text->find("..");
    if (dots == std::string::npos) {
      const NodeState* host = find_host(*text, node.place, context_);
      if (host != nullptr) add_host(host->index, node.place);
      return;
    }
    const std::string first = text->substr(0, dots), last = text->substr(dots + 2);
    const std::size_t digits = first.find_last_not_of("0123456789") + 1;
    const auto from = parse_unsigned(std::string_view(first).substr(digits));
    const auto to = parse_unsigned(std::string_view(last).substr(std::min(digits, last.size())));
    if (!from || !to || last.substr(0, digits) != first.substr(0, digits) || *from > *to || *to - *from > kMostRanks) {
      problems_.add(node.place, fmt::format("{} is not a range of hosts", in_quotes(*text)), "write e.g. h0..h15");
      return;
    }
    for (std::uint64_t number = *from; number <= *to; ++number) {
      const NodeState* host = find_host(fmt::format("{}{}", first.substr(0, digits), number), node.place, context_);
      if (host == nullptr) return;
      add_host(host->index, node.place);
    }
  }

  // One rank for each GPU, host after host.
  void read_hosts() {
    const YamlNode* hosts = map_.get("hosts");
    if (hosts == nullptr || (hosts->is_scalar() && hosts->text == "all")) {
      for (std::uint32_t host = 0; host < context_.lab.hosts.size(); ++host) {
        if (!context_.lab.hosts[host].places.gpus.empty()) options_.hosts.push_back(host);
      }
      if (options_.hosts.empty())
        problems_.add(node_.place, "a job in a lab without GPUs", "add gpus to the nodes that it runs on");
    } else if (hosts->is_sequence()) {
      for (const YamlNode& item : hosts->children) read_host_name(item);
    } else {
      read_host_name(*hosts);
    }
    std::optional<std::uint64_t> each;
    const YamlNode* gpus = map_.get("gpus_per_host");
    if (gpus != nullptr) each = read_unsigned(*gpus, "gpus_per_host", {1, 64}, problems_);
    for (std::uint32_t machine = 0; machine < options_.hosts.size(); ++machine) {
      const HostConfig& host = context_.lab.hosts[options_.hosts[machine]];
      const std::uint64_t there = host.places.gpus.size();
      if (each && *each > there)
        return problems_.add(gpus->place, fmt::format("{} has {} GPUs, the job takes {}", host.name, there, *each),
                             "lower gpus_per_host, or add some to the node");
      for (std::uint32_t gpu = 0; gpu < each.value_or(there); ++gpu) options_.ranks.push_back({machine, gpu});
    }
  }

  void read_environment() {
    const YamlNode* env = map_.get("env");
    if (env == nullptr) return;
    if (!env->is_map()) return problems_.add(env->place, "env is no map", "write env: {NCCL_ALGO: Ring}");
    std::vector<nccl::Variable> variables;
    for (std::size_t i = 0; i < env->keys.size(); ++i) {
      const auto text = read_text(env->children[i], env->keys[i].text, problems_);
      variables.push_back({env->keys[i].text, text.value_or("")});
      if (!env->keys[i].text.starts_with("NCCL_"))
        problems_.add(env->keys[i].place, fmt::format("{} is no variable of NCCL", in_quotes(env->keys[i].text)),
                      "write e.g. env: {NCCL_IB_QPS_PER_CONNECTION: 4}");
    }
    auto parsed = nccl::parse_environment(variables);
    for (const nccl::EnvironmentProblem& each : parsed.problems)
      (each.error ? problems_ : context_.warnings).add(env->children[each.variable].place, each.message, each.remedy);
    options_.nccl = std::move(parsed.environment);
  }

  // FLOP/s of a GPU that a job reaches: what the lab says, or the catalog's times the efficiency.
  void read_rate() {
    double efficiency = kDefaultEfficiency;
    if (const YamlNode* node = map_.get("efficiency")) {
      const auto ppb =
          read_quantity(*node, "efficiency", Quantity::kProbability, {1'000'000, 1'000'000'000}, problems_);
      if (ppb) efficiency = static_cast<double>(*ppb) / 1e9;
    }
    if (const YamlNode* node = map_.get("tflops")) {
      const auto tflops = read_number(*node, "tflops", problems_);
      if (tflops && (*tflops < 0.001 || *tflops > 1e6))
        problems_.add(node->place, fmt::format("{} TFLOPS", *tflops), "from 0.001 to 1000000");
      if (tflops) flops_per_s_ = *tflops * 1e12;
      if (map_.get("efficiency") != nullptr)
        problems_.add(map_.get("efficiency")->place, "efficiency beside tflops",
                      "tflops is what the job reaches; efficiency is a share of the catalog's");
      return;
    }
    for (const nccl::RankPlace& rank : options_.ranks) {
      const auto& gpu = context_.lab.hosts[options_.hosts[rank.machine]].places.gpus[rank.gpu].model;
      rates_.push_back(gpu.bf16_TFLOPS * 1e12 * efficiency);
    }
    flops_per_s_ = rates_.empty() ? 0 : *std::max_element(rates_.begin(), rates_.end());
  }

  // Slower GPUs, and those that the lab makes slow.
  void scale_compute(workload::JobGraph& graph) {
    const bool given = map_.get("compute") != nullptr;
    for (std::uint32_t rank = 0; rank < rates_.size() && !given; ++rank) {
      if (rates_[rank] > 0) graph.ranks[rank].compute_factor = flops_per_s_ / rates_[rank];
    }
    const YamlNode* slow = map_.get("slow");
    const auto* list = slow == nullptr ? nullptr : read_list(*slow, "slow", problems_);
    for (const YamlNode& item : list == nullptr ? std::vector<YamlNode>{} : *list) {
      const MapReader map(item, "slow", kJobSlowKeys, problems_);
      const YamlNode *rank = map.require("rank"), *by = map.require("by");
      if (rank == nullptr || by == nullptr) continue;
      const auto number = read_unsigned(*rank, "rank", {0, options_.ranks.size() - 1}, problems_);
      const auto ppb = read_quantity(*by, "by", Quantity::kProbability, {0, 1'000'000'000}, problems_);
      if (number && ppb) graph.ranks[*number].compute_factor *= 1 + static_cast<double>(*ppb) / 1e9;
    }
  }

  std::optional<workload::JobGraph> read_training(bool inference) {
    TrainingOptions training;
    training.forward_only = inference;
    training.flops_per_s = flops_per_s_;
    read_model(training.model);
    read_parallel(training.parallel);
    map_.read(kJobTrainingKeys, training);
    map_.read(kJobOnlyTrainingKeys, training);
    if (training.zero > 3) problems_.add(map_.get("zero")->place, "ZeRO has the stages 0 to 3", "3 is FSDP");
    if (!problems_.empty() || !check_ranks(training)) return std::nullopt;
    auto graph = workload::make_training(training);
    if (!graph) {
      problems_.add(node_.place, graph.error().message, graph.error().remedy);
      return std::nullopt;
    }
    const workload::TrainingParallel& p = training.parallel;
    options_.summary = fmt::format("{} of {} layers, hidden {}:", inference ? "inference" : "training",
                                   training.model.layers, training.model.hidden);
    for (const auto& [name, size] :
         {std::pair("tensor", p.tensor), std::pair("context", p.context), std::pair("data", p.data),
          std::pair("expert", p.expert), std::pair("pipeline", p.pipeline)}) {
      if (size > 1) options_.summary += fmt::format(" {} {}", name, size);
    }
    return std::move(*graph);
  }

  void read_model(workload::TrainingModel& model) {
    const MapReader map(*map_.get("model"), "model", kJobModelKeys, problems_);
    if (!map.ok()) return;
    map.read(kJobModelKeys, model);
    if (model.layers > 65'535)
      problems_.add(map.get("layers")->place, fmt::format("{} layers", model.layers), "at most 65535");
  }

  // What is left out of data is what the ranks leave for it.
  void read_parallel(workload::TrainingParallel& parallel) {
    bool data_given = false;
    if (const YamlNode* node = map_.get("parallel")) {
      const MapReader map(*node, "parallel", kJobParallelKeys, problems_);
      if (!map.ok()) return;
      map.read(kJobParallelKeys, parallel);
      data_given = map.get("data") != nullptr;
    }
    const std::uint64_t others = std::uint64_t{parallel.tensor} * parallel.context * parallel.pipeline;
    if (!data_given && others > 0 && options_.ranks.size() % others == 0)
      parallel.data = std::max(1U, static_cast<std::uint32_t>(options_.ranks.size() / others));
  }

  bool check_ranks(const TrainingOptions& training) {
    const workload::TrainingParallel& p = training.parallel;
    const double ranks = 1.0 * p.tensor * p.context * p.data * p.pipeline;
    const YamlNode* node = map_.get("parallel");
    const Place& place = node == nullptr ? node_.place : node->place;
    const auto there = static_cast<double>(options_.ranks.size());
    if (ranks != there) {
      problems_.add(
          place,
          fmt::format("tensor {} x context {} x data {} x pipeline {} are {} ranks, the hosts have {} GPUs", p.tensor,
                      p.context, p.data, p.pipeline, ranks, there),
          ranks > there ? "lower one of them, or name more hosts" : "raise data, or set gpus_per_host or hosts");
      return false;
    }
    const double nodes = 24.0 * training.model.layers * workload::micro_batches(training);
    if (nodes * ranks * options_.steps > 4.0 * kMostNodes) {
      problems_.add(node_.place, fmt::format("a job of {:.0f} million nodes", nodes * ranks * options_.steps / 1e6),
                    "fewer layers, micro-batches or steps show the same");
      return false;
    }
    return true;
  }

  std::optional<workload::JobGraph> read_trace(JobKind kind) {
    const YamlNode& file = *map_.get("file");
    const auto name = read_text(file, "file", problems_);
    if (!name) return std::nullopt;
    options_.summary = fmt::format("{} {}", kind == JobKind::kChakra ? "Chakra traces" : "SimAI workload", *name);
    const JobTraceReading reading{map_, file, *name, flops_per_s_, options_.ranks.size(), context_};
    return kind == JobKind::kChakra ? read_chakra_files(reading) : read_simai_file(reading);
  }

  bool check_size(const workload::JobGraph& graph) {
    std::uint64_t nodes = 0;
    for (const workload::JobRank& rank : graph.ranks) nodes += graph.programs[rank.program].nodes.size();
    if (nodes * options_.steps <= kMostNodes) return true;
    problems_.add(node_.place, fmt::format("a job of {} nodes in {} steps", nodes, options_.steps),
                  fmt::format("at most {} in all steps together", kMostNodes));
    return false;
  }

  const YamlNode& node_;
  LabContext& context_;
  ProblemList& problems_;
  WorkloadConfig& workload_;
  MapReader map_;
  JobOptions options_;
  double flops_per_s_ = 0;
  std::vector<double> rates_;  // of ranks, where the catalog says them
};

}  // namespace

const Section& kind_keys(std::type_identity<JobOptions>) {
  return kJobKindKeys;
}
std::string_view misfit(std::type_identity<JobOptions>, std::string_view) {
  return "all that a job takes is inside job: {…}, but for dscp and priority";
}

void read_kind(std::type_identity<JobOptions>, const YamlNode& node, WorkloadReading& reading) {
  JobReader(node, reading).read();
  std::vector<PortRef> ports;
  if (const auto* options = reading.workload.as<JobOptions>()) {
    for (const auto& machine : nccl_machines(reading.context.lab, options->hosts).ports)
      ports.insert(ports.end(), machine.begin(), machine.end());
  }
  read_traffic_class(reading.map, ports, reading.workload, reading.context);
}

std::vector<TextError> metric_problems(const JobOptions& options, const WorkloadConfig& workload,
                                       std::string_view metric) {
  constexpr std::string_view kBusbw = "busbw_GBps";
  if (!metric.starts_with(kBusbw) || options.graph == nullptr)
    return plain_metric_problems(workload, metric_names(options), metric);
  std::vector<std::string> kinds;
  for (const workload::JobGroup& group : options.graph->groups) {
    const std::string kind = workload::group_kind(group.name);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  for (const std::string& kind : kinds) {
    if (metric == fmt::format("{}.{}", kBusbw, kind)) return {};
  }
  return {{fmt::format("{} has no collectives of {}", workload.name, in_quotes(metric.substr(kBusbw.size()))),
           kinds.empty() ? "it has no collectives" : fmt::format("write e.g. {}.{}", kBusbw, kinds.front())}};
}

}  // namespace weft::lab
