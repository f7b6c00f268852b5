// Volumes, FLOPs, groups; the programs of the stages are made in job_stage.cc.
#include "model/workloads/job_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "model/workloads/job_stage.h"

namespace weft::workload {
namespace {

std::uint64_t ffn_of(const TrainingModel& model) {
  return model.ffn > 0 ? model.ffn : std::uint64_t{4} * model.hidden;
}
std::uint64_t matrices(const TrainingModel& model) {
  return model.gated ? 3 : 2;
}
// Tokens of a micro-batch on one rank.
std::uint64_t tokens(const TrainingOptions& options) {
  const std::uint64_t each = options.forward_only ? 1 : options.model.sequence;
  return options.micro_batch * each / options.parallel.context;
}

std::optional<TrainingProblem> first_problem(const TrainingOptions& options) {
  const TrainingModel& model = options.model;
  const TrainingParallel& parallel = options.parallel;
  const auto divides = [](std::uint64_t part, std::uint64_t whole) { return part > 0 && whole % part == 0; };
  const auto is_split = [&](std::string_view what, std::uint64_t whole, std::string_view by,
                            std::uint64_t part) -> std::optional<TrainingProblem> {
    if (divides(part, whole)) return std::nullopt;
    return TrainingProblem{fmt::format("{} {} cannot be split over {} {}", what, whole, by, part),
                           fmt::format("{} is a multiple of {}", what, by)};
  };
  if (model.layers == 0 || model.hidden == 0 || model.sequence == 0)
    return TrainingProblem{"a model without layers, hidden or sequence",
                           "write model: {layers: 24, hidden: 2048, sequence: 2048}"};
  for (const auto& problem :
       {is_split("hidden", model.hidden, "tensor", parallel.tensor),
        is_split("layers", model.layers, "pipeline", parallel.pipeline),
        options.forward_only ? std::nullopt : is_split("sequence", model.sequence, "context", parallel.context),
        is_split("data", parallel.data, "expert", parallel.expert),
        is_split("experts", std::max(model.experts, parallel.expert), "expert", parallel.expert)}) {
    if (problem) return problem;
  }
  if (parallel.expert > 1 && model.experts == 0)
    return TrainingProblem{"expert parallelism in a model without experts", "write model: {experts: 8, top_k: 2}"};
  if (model.experts > 0 && (model.top_k == 0 || model.top_k > model.experts))
    return TrainingProblem{fmt::format("top_k {} of {} experts", model.top_k, model.experts),
                           "a token goes to at least one expert and at most to all"};
  if (options.forward_only && (parallel.context > 1 || options.zero > 0))
    return TrainingProblem{"context parallelism or ZeRO in inference",
                           "inference takes tensor, pipeline, expert and data"};
  const std::uint64_t at_once = std::uint64_t{options.micro_batch} * parallel.data;
  if (options.global_batch != 0 && !divides(at_once, options.global_batch))
    return TrainingProblem{fmt::format("a global batch of {} is no multiple of micro-batch {} times data {}",
                                       options.global_batch, options.micro_batch, parallel.data),
                           fmt::format("write a multiple of {}", at_once)};
  if (options.zero > 1 && parallel.pipeline > 1)
    return TrainingProblem{fmt::format("ZeRO stage {} with pipeline stages", options.zero),
                           "gradients are kept over the micro-batches of a pipeline: use ZeRO stage 0 or 1"};
  if (options.flops_per_s <= 0 && options.layer_ps <= 0)
    return TrainingProblem{"compute without a rate",
                           "write tflops: 400, or compute: 500 us for the forward of a layer"};
  return std::nullopt;
}

// The place of a rank in each dimension.
struct Place4 {
  std::uint32_t tensor, context, data, pipeline;
};

class Ranks {
 public:
  explicit Ranks(const TrainingParallel& parallel) : p_(parallel) {}
  Place4 place(std::uint32_t rank) const {
    Place4 at{};
    at.tensor = rank % p_.tensor, rank /= p_.tensor;
    at.context = rank % p_.context, rank /= p_.context;
    at.data = rank % p_.data, rank /= p_.data;
    at.pipeline = rank;
    return at;
  }
  std::uint32_t rank(const Place4& at) const {
    return at.tensor + p_.tensor * (at.context + p_.context * (at.data + p_.data * at.pipeline));
  }

 private:
  const TrainingParallel& p_;
};

// The groups of one dimension; `members` of a rank are those of its group, and the same for each of them.
template <class Members>
void add_groups(JobGraph& graph, std::string_view name, Members&& members) {
  std::vector<bool> done(graph.ranks.size());
  std::uint32_t number = 0;
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank) {
    if (done[rank]) continue;
    JobGroup group{fmt::format("{}{}", name, number++), members(rank)};
    for (std::uint32_t member : group.ranks) {
      done[member] = true;
      graph.ranks[member].groups.push_back(static_cast<std::uint32_t>(graph.groups.size()));
    }
    graph.groups.push_back(std::move(group));
  }
}

}  // namespace

std::uint32_t rank_count(const TrainingParallel& parallel) {
  return parallel.tensor * parallel.context * parallel.data * parallel.pipeline;
}

std::uint64_t attention_parameters(const TrainingOptions& options) {
  const std::uint64_t h = options.model.hidden;
  return 4 * h * h / options.parallel.tensor;
}
std::uint64_t mlp_parameters(const TrainingOptions& options) {
  return matrices(options.model) * options.model.hidden * ffn_of(options.model) / options.parallel.tensor;
}
std::uint64_t expert_parameters(const TrainingOptions& options) {
  return mlp_parameters(options) * (options.model.experts / options.parallel.expert);
}
std::uint64_t embedding_parameters(const TrainingOptions& options) {
  return std::uint64_t{options.model.vocabulary} * options.model.hidden / options.parallel.tensor;
}

double attention_flops(const TrainingOptions& options) {
  const double h = options.model.hidden, s = options.model.sequence;
  return static_cast<double>(tokens(options)) * (8 * h * h + 4 * s * h) / options.parallel.tensor;
}
double mlp_flops(const TrainingOptions& options, bool experts) {
  const double each = 2.0 * static_cast<double>(matrices(options.model)) * options.model.hidden *
                      static_cast<double>(ffn_of(options.model)) / options.parallel.tensor;
  return static_cast<double>(tokens(options)) * each * (experts ? options.model.top_k : 1);
}
double logits_flops(const TrainingOptions& options) {
  return static_cast<double>(tokens(options)) * 2 * options.model.hidden * options.model.vocabulary /
         options.parallel.tensor;
}

std::uint64_t activation_B(const TrainingOptions& options) {
  return tokens(options) * options.model.hidden * options.value_B;
}

std::uint32_t micro_batches(const TrainingOptions& options) {
  if (options.global_batch == 0) return 1;
  return options.global_batch / (options.micro_batch * options.parallel.data);
}

tl::expected<JobGraph, TrainingProblem> make_training(const TrainingOptions& options) {
  if (auto problem = first_problem(options)) return tl::unexpected(std::move(*problem));
  const TrainingParallel& parallel = options.parallel;
  JobGraph graph;
  graph.ranks.resize(rank_count(parallel));
  const Ranks ranks(parallel);
  StageSlots slots;
  std::uint32_t next_slot = 0;
  const auto add = [&](std::string_view name, std::uint32_t size, std::optional<std::uint32_t>& slot, auto&& members) {
    if (size < 2) return;
    slot = next_slot++;
    add_groups(graph, name, members);
  };
  // Ranks that differ from `rank` in data and context alone: data from `first` on, so many.
  const auto over_data = [&](std::uint32_t rank, std::uint32_t first, std::uint32_t count, std::uint32_t stride) {
    std::vector<std::uint32_t> list;
    Place4 at = ranks.place(rank);
    for (std::uint32_t i = 0; i < count; ++i) {
      for (at.context = 0; at.context < parallel.context; ++at.context) {
        at.data = first + i * stride;
        list.push_back(ranks.rank(at));
      }
    }
    return list;
  };
  add("tensor", parallel.tensor, slots.tensor, [&](std::uint32_t rank) {
    std::vector<std::uint32_t> list(parallel.tensor);
    std::iota(list.begin(), list.end(), rank - ranks.place(rank).tensor);
    return list;
  });
  add("context", parallel.context, slots.context, [&](std::uint32_t rank) {
    std::vector<std::uint32_t> list;
    Place4 at = ranks.place(rank);
    for (at.context = 0; at.context < parallel.context; ++at.context) list.push_back(ranks.rank(at));
    return list;
  });
  add("data", options.forward_only ? 1 : parallel.data * parallel.context, slots.data,
      [&](std::uint32_t rank) { return over_data(rank, 0, parallel.data, 1); });
  add("expert", parallel.expert, slots.expert, [&](std::uint32_t rank) {
    std::vector<std::uint32_t> list;
    Place4 at = ranks.place(rank);
    const std::uint32_t first = at.data / parallel.expert * parallel.expert;
    for (std::uint32_t i = 0; i < parallel.expert; ++i) {
      at.data = first + i;
      list.push_back(ranks.rank(at));
    }
    return list;
  });
  const bool expert_gradients = options.model.experts > 0 && !options.forward_only;
  add("expert-data", expert_gradients ? parallel.data / parallel.expert * parallel.context : 1, slots.expert_data,
      [&](std::uint32_t rank) {
        return over_data(rank, ranks.place(rank).data % parallel.expert, parallel.data / parallel.expert,
                         parallel.expert);
      });
  for (std::uint32_t stage = 0; stage < parallel.pipeline; ++stage)
    graph.programs.push_back(make_stage(options, slots, stage, graph));
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank) {
    JobRank& own = graph.ranks[rank];
    Place4 at = ranks.place(rank);
    own.program = at.pipeline;
    const std::uint32_t stage = at.pipeline;
    if (stage > 0) at.pipeline = stage - 1, own.peers.push_back(ranks.rank(at));
    if (stage + 1 < parallel.pipeline) at.pipeline = stage + 1, own.peers.push_back(ranks.rank(at));
  }
  return graph;
}

}  // namespace weft::workload
