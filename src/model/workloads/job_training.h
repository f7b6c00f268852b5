// One step of a transformer's training, or of its inference, from model and parallelism: which collectives of which
// sizes each rank issues, between which pieces of compute (docs/jobs.md has the formulas). Ranks are numbered as
// Megatron-LM numbers them: tensor, then context, data (with expert inside), pipeline outermost.
// Pipelines run the schedule 1F1B; all ranks of one stage share a program.
// Not modelled: interleaved stages, the collectives of embedding and loss, the optimizer's time.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "base/time.h"
#include "spec/job_graph.h"

namespace weft::workload {

enum class Recompute : std::uint8_t { kNone, kSelective, kFull };

struct TrainingModel {
  std::uint32_t layers = 0, hidden = 0, sequence = 0, vocabulary = 0;
  std::uint32_t ffn = 0;                 // 0: 4 x hidden
  bool gated = false;                    // three matrices in the MLP, not two (SwiGLU)
  std::uint32_t experts = 0, top_k = 1;  // 0: a dense model
  std::uint32_t moe_every = 1;           // every n-th layer has experts
};

struct TrainingParallel {
  std::uint32_t tensor = 1, context = 1, data = 1, pipeline = 1;
  std::uint32_t expert = 1;  // of the data-parallel ranks
  bool sequence = false;     // all-gather and reduce-scatter in place of tensor all-reduces
};

struct TrainingOptions {
  TrainingModel model;
  TrainingParallel parallel;
  std::uint32_t micro_batch = 1, global_batch = 0;  // sequences; 0: one micro-batch for each data-parallel rank
  std::uint32_t value_B = 2;                        // of activations and parameters
  std::uint32_t gradient_B = 0;                     // 0: as values
  std::uint32_t zero = 0;                           // stage of ZeRO; 3 is FSDP
  bool overlap = true;
  std::uint64_t bucket_B = 25'000'000;
  Recompute recompute = Recompute::kNone;
  double flops_per_s = 0;     // of a GPU, as reached
  Time_ps layer_ps = 0;       // in its place: forward of a layer for a micro-batch
  bool forward_only = false;  // inference: `sequence` positions are attended to, each step makes one token
};

struct TrainingProblem {
  std::string message, remedy;
};

std::uint32_t rank_count(const TrainingParallel& parallel);
// Parameters of one tensor-parallel rank of a dense layer, of its experts (all that the rank has), of the embedding.
std::uint64_t attention_parameters(const TrainingOptions& options);
std::uint64_t mlp_parameters(const TrainingOptions& options);
std::uint64_t expert_parameters(const TrainingOptions& options);
std::uint64_t embedding_parameters(const TrainingOptions& options);
// Floating-point operations of a rank for the forward of one micro-batch.
double attention_flops(const TrainingOptions& options);
double mlp_flops(const TrainingOptions& options, bool experts);
double logits_flops(const TrainingOptions& options);
// Of an activation of one micro-batch on a rank: b * s * h * B / context.
std::uint64_t activation_B(const TrainingOptions& options);
std::uint32_t micro_batches(const TrainingOptions& options);

tl::expected<JobGraph, TrainingProblem> make_training(const TrainingOptions& options);

}  // namespace weft::workload
