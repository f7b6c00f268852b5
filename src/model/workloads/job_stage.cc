#include "model/workloads/job_stage.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace weft::workload {
namespace {

using nccl::Collective;

// Gradients whose backward is done, gathered until there is a bucket of them.
struct Bucket {
  std::uint64_t parameters = 0;
  std::vector<std::uint32_t> sent;  // nodes
};

class StageBuilder {
 public:
  StageBuilder(const TrainingOptions& options, const StageSlots& slots, std::uint32_t stage, JobGraph& names)
      : o_(options), slots_(slots), stage_(stage), names_(names) {
    if (o_.layer_ps > 0) {
      ps_per_flop_ = static_cast<double>(o_.layer_ps) / (attention_flops(o_) + mlp_flops(o_, false));
    } else {
      ps_per_flop_ = 1e12 / o_.flops_per_s;
    }
  }

  JobProgram build() {
    const std::uint32_t stages = o_.parallel.pipeline, count = micro_batches(o_);
    const std::uint32_t warm_up = o_.forward_only ? count : std::min(stages - stage_ - 1, count);
    std::uint32_t backward_next = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      forward(i);
      if (i >= warm_up) backward(backward_next++);
    }
    while (!o_.forward_only && backward_next < count) backward(backward_next++);
    finish_gradients();
    return std::move(program_);
  }

 private:
  std::uint32_t layers() const { return o_.model.layers / o_.parallel.pipeline; }
  std::uint32_t layer_number(std::uint32_t layer) const { return stage_ * layers() + layer + 1; }
  bool has_experts(std::uint32_t layer) const {
    return o_.model.experts > 0 && layer_number(layer) % o_.model.moe_every == 0;
  }
  bool is_first() const { return stage_ == 0; }
  bool is_last() const { return stage_ + 1 == o_.parallel.pipeline; }
  std::uint32_t previous_slot() const { return 0; }
  std::uint32_t next_slot() const { return is_first() ? 0 : 1; }
  std::uint64_t gradient_B() const { return o_.gradient_B > 0 ? o_.gradient_B : o_.value_B; }

  JobNode named(std::string_view name, JobNodeKind kind) {
    JobNode node;
    node.kind = kind;
    node.name = names_.name_of(name);
    node.layer = static_cast<std::uint16_t>(layer_);
    node.micro_batch = static_cast<std::uint16_t>(micro_ + 1);
    return node;
  }
  // It follows what came last on the rank's way, and `extra`.
  std::uint32_t chain(const JobNode& node, std::optional<std::uint32_t> extra = {}) {
    std::vector<std::uint32_t> before;
    if (tail_) before.push_back(*tail_);
    if (extra && extra != tail_) before.push_back(*extra);
    tail_ = program_.add(node, before);
    return *tail_;
  }
  void compute(std::string_view name, double flops, std::optional<std::uint32_t> extra = {}) {
    JobNode node = named(name, JobNodeKind::kCompute);
    node.duration_ps = static_cast<Time_ps>(std::llround(flops * ps_per_flop_));
    chain(node, extra);
  }
  JobNode collective_node(std::string_view name, Collective what, std::uint32_t slot, std::uint64_t size_B) {
    JobNode node = named(name, JobNodeKind::kCollective);
    node.collective = what;
    node.target = slot;
    node.size_B = size_B;
    return node;
  }
  void collective(std::string_view name, Collective what, std::optional<std::uint32_t> slot, std::uint64_t size_B) {
    if (slot && size_B > 0) chain(collective_node(name, what, *slot, size_B));
  }

  // Megatron's f and g around a block that is split over tensor-parallel ranks.
  void enter_block() {
    if (o_.parallel.sequence) collective("tensor all-gather", Collective::kAllGather, slots_.tensor, activation_B(o_));
  }
  void leave_block() {
    if (o_.parallel.sequence) {
      collective("tensor reduce-scatter", Collective::kReduceScatter, slots_.tensor, activation_B(o_));
    } else {
      collective("tensor all-reduce", Collective::kAllReduce, slots_.tensor, activation_B(o_));
    }
  }
  // Keys and values of the whole sequence.
  std::uint64_t kv_B() const { return 2 * activation_B(o_) * o_.parallel.context / o_.parallel.tensor; }
  void exchange_tokens(std::string_view name) {
    const std::uint64_t split = o_.parallel.sequence ? o_.parallel.tensor : 1;
    collective(name, Collective::kAlltoAll, slots_.expert, activation_B(o_) * o_.model.top_k / split);
  }

  std::uint64_t layer_parameters(std::uint32_t layer) const {
    return attention_parameters(o_) + (has_experts(layer) ? 0 : mlp_parameters(o_));
  }
  // ZeRO 3: parameters of a layer before its compute. With overlap, one layer ahead.
  std::optional<std::uint32_t> gather_parameters(std::uint32_t layer) {
    if (o_.zero < 3 || !slots_.data) return std::nullopt;
    std::vector<std::uint32_t> before;
    const auto after = o_.overlap ? gathered_behind_ : tail_;
    if (after) before.push_back(*after);
    const std::uint32_t node = program_.add(collective_node("parameter all-gather", Collective::kAllGather,
                                                            *slots_.data, layer_parameters(layer) * o_.value_B),
                                            before);
    gathered_behind_ = tail_;
    return node;
  }

  void forward_block(std::uint32_t layer, std::optional<std::uint32_t> parameters) {
    enter_block();
    collective("key-value all-gather", Collective::kAllGather, slots_.context, kv_B());
    compute("forward attention", attention_flops(o_), parameters);
    leave_block();
    enter_block();
    if (has_experts(layer)) exchange_tokens("expert dispatch");
    compute(has_experts(layer) ? "forward experts" : "forward MLP", mlp_flops(o_, has_experts(layer)));
    if (has_experts(layer)) exchange_tokens("expert combine");
    leave_block();
  }

  // Sends and receives are beside the way of the rank; receives with overlap one operation ahead.
  std::uint32_t receive(std::string_view name, std::uint32_t slot) {
    JobNode node = named(name, JobNodeKind::kReceive);
    node.target = slot;
    node.size_B = boundary_B();
    std::vector<std::uint32_t> before;
    const auto after = o_.overlap ? operation_behind_ : tail_;
    if (after) before.push_back(*after);
    operation_behind_ = tail_;
    return program_.add(node, before);
  }
  void send(std::string_view name, std::uint32_t slot) {
    JobNode node = named(name, JobNodeKind::kSend);
    node.target = slot;
    node.size_B = boundary_B();
    program_.add(node, std::vector<std::uint32_t>{*tail_});
  }
  // With sequence parallelism each tensor-parallel rank has, and sends, its own part.
  std::uint64_t boundary_B() const { return activation_B(o_) / (o_.parallel.sequence ? o_.parallel.tensor : 1); }

  void forward(std::uint32_t micro_batch) {
    micro_ = micro_batch;
    layer_ = 0;
    if (!is_first()) start_after(receive("receive activation", previous_slot()));
    for (std::uint32_t layer = 0; layer < layers(); ++layer) {
      layer_ = layer_number(layer);
      forward_block(layer, gather_parameters(layer));
    }
    layer_ = 0;
    if (is_last() && o_.model.vocabulary > 0) compute("forward logits", logits_flops(o_));
    if (!is_last()) send("send activation", next_slot());
  }

  // The next node on the rank's way also waits for this one: a piece of compute that takes no time.
  void start_after(std::uint32_t node) { compute("arrived", 0, node); }

  void backward(std::uint32_t micro_batch) {
    micro_ = micro_batch;
    layer_ = 0;
    if (!is_last()) start_after(receive("receive gradient", next_slot()));
    const bool is_final = micro_batch + 1 == micro_batches(o_);
    if (is_last() && o_.model.vocabulary > 0) {
      compute("backward logits", 2 * logits_flops(o_));
      if (is_final && o_.parallel.pipeline > 1) add_gradients(dense_, embedding_parameters(o_), slots_.data);
    }
    for (std::uint32_t layer = layers(); layer-- > 0;) {
      layer_ = layer_number(layer);
      auto parameters = gather_parameters(layer);
      if (o_.recompute == Recompute::kFull) {
        forward_block(layer, parameters);
        parameters.reset();
      }
      backward_block(layer, parameters);
      if (o_.zero >= 3 && slots_.data) {
        const std::uint32_t before[] = {*tail_};
        dense_.sent.push_back(program_.add(collective_node("gradient reduce-scatter", Collective::kReduceScatter,
                                                           *slots_.data, layer_parameters(layer) * gradient_B()),
                                           before));
        if (!o_.overlap) tail_ = dense_.sent.back();
      } else if (is_final) {
        add_gradients(dense_, layer_parameters(layer), slots_.data);
      }
      if (is_final && has_experts(layer)) add_gradients(experts_, expert_parameters(o_), slots_.expert_data);
    }
    layer_ = 0;
    if (is_final && is_first()) add_gradients(dense_, embedding_parameters(o_), slots_.data);
    if (!is_first()) send("send gradient", previous_slot());
  }

  void backward_block(std::uint32_t layer, std::optional<std::uint32_t> parameters) {
    enter_block();
    if (has_experts(layer)) exchange_tokens("expert combine gradient");
    compute(has_experts(layer) ? "backward experts" : "backward MLP", 2 * mlp_flops(o_, has_experts(layer)),
            parameters);
    if (has_experts(layer)) exchange_tokens("expert dispatch gradient");
    leave_block();
    enter_block();
    collective("key-value all-gather", Collective::kAllGather, slots_.context, kv_B());
    double flops = 2 * attention_flops(o_);
    if (o_.recompute == Recompute::kSelective) flops += attention_core_flops();
    compute("backward attention", flops);
    collective("key-value reduce-scatter", Collective::kReduceScatter, slots_.context, kv_B());
    leave_block();
  }
  double attention_core_flops() const {
    const double h = o_.model.hidden, s = o_.model.sequence;
    return attention_flops(o_) * 4 * s / (8 * h + 4 * s);
  }

  // Gradients of so many parameters more; a full bucket goes out.
  void add_gradients(Bucket& bucket, std::uint64_t parameters, std::optional<std::uint32_t> slot) {
    if (!slot) return;
    bucket.parameters += parameters;
    if (o_.overlap && bucket.parameters * gradient_B() >= o_.bucket_B) flush(bucket, *slot);
  }
  void flush(Bucket& bucket, std::uint32_t slot) {
    const bool sharded = o_.zero > 0;
    const std::uint32_t before[] = {*tail_};
    bucket.sent.push_back(program_.add(collective_node(sharded ? "gradient reduce-scatter" : "gradient all-reduce",
                                                       sharded ? Collective::kReduceScatter : Collective::kAllReduce,
                                                       slot, bucket.parameters * gradient_B()),
                                       before));
    sent_parameters_.push_back({slot, bucket.parameters, bucket.sent.back()});
    bucket.parameters = 0;
  }
  void finish_gradients() {
    micro_ = micro_batches(o_) - 1;
    layer_ = 0;
    // Without overlap they are all still here, and go out bucket after bucket.
    for (auto [bucket, slot] : {std::pair(&dense_, slots_.data), std::pair(&experts_, slots_.expert_data)}) {
      std::uint64_t left = bucket->parameters;
      const std::uint64_t each = std::max<std::uint64_t>(1, o_.bucket_B / gradient_B());
      while (left > 0) {
        bucket->parameters = left > each + each / 2 ? each : left;
        left -= bucket->parameters;
        flush(*bucket, *slot);
      }
    }
    if (o_.zero != 1 && o_.zero != 2) return;
    // The optimizer needs all gradients of the rank; then parameters are whole again.
    const std::vector<Sent> sent = sent_parameters_;
    std::vector<std::uint32_t> all;
    for (const Sent& each : sent) all.push_back(each.node);
    for (const Sent& each : sent)
      program_.add(
          collective_node("parameter all-gather", Collective::kAllGather, each.slot, each.parameters * o_.value_B),
          all);
  }

  struct Sent {
    std::uint32_t slot;
    std::uint64_t parameters;
    std::uint32_t node;
  };

  const TrainingOptions& o_;
  const StageSlots& slots_;
  std::uint32_t stage_;
  JobGraph& names_;
  double ps_per_flop_ = 0;
  JobProgram program_;
  std::uint32_t layer_ = 0, micro_ = 0;
  std::optional<std::uint32_t> tail_, gathered_behind_, operation_behind_;
  Bucket dense_, experts_;
  std::vector<Sent> sent_parameters_;
};

}  // namespace

JobProgram make_stage(const TrainingOptions& options, const StageSlots& slots, std::uint32_t stage, JobGraph& names) {
  return StageBuilder(options, slots, stage, names).build();
}

}  // namespace weft::workload
