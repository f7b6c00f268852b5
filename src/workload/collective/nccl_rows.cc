#include "workload/collective/nccl_rows.h"

#include <algorithm>
#include <bit>

#include "nccl/text/tests_options.h"

namespace weft::workload {

namespace {

// A row moves about so much before its last iteration stands for the others.
constexpr std::uint64_t kRowBudget_B = 256 << 20;

}  // namespace

NcclRows::NcclRows(const NcclOptions& options, std::shared_ptr<const nccl::Communicator> communicator)
    : options_(options), communicator_(std::move(communicator)) {
  add_rows();
  add_warm_ups();
}

void NcclRows::add_rows() {
  const nccl::TestOptions& test = options_.test;
  const std::uint64_t ranks = communicator_->ranks().size();
  const bool reduces = nccl::has_reduction(test.collective), rooted = nccl::has_root(test.collective);
  for (std::uint32_t cycle = 0; cycle < test.cycles; ++cycle) {
    for (std::uint32_t type : test.types) {
      for (std::uint32_t operation : reduces ? test.operations : std::vector<std::uint32_t>{0}) {
        const std::int32_t first = test.root < 0 ? 0 : test.root;
        const std::int32_t last = test.root < 0 ? static_cast<std::int32_t>(ranks) - 1 : test.root;
        for (std::int32_t root = rooted ? first : -1; root <= (rooted ? last : -1); ++root) {
          for (std::uint64_t size_B : test.sizes()) {
            const std::uint32_t element_B = nccl::data_types()[type].size_B;
            rows_.push_back({nccl::param_count(test.collective, size_B, element_B, ranks), type, operation, root});
          }
        }
      }
    }
  }
}

nccl::Operation NcclRows::operation_of(const Row& row, bool in_place, std::uint32_t rank) const {
  const auto ranks = static_cast<std::uint32_t>(communicator_->ranks().size());
  nccl::Operation operation;
  operation.collective = options_.test.collective;
  operation.count = row.count;
  operation.element_B = nccl::data_types()[row.type].size_B;
  operation.root = static_cast<std::uint32_t>(std::max(row.root, 0));
  operation.in_place = in_place;
  operation.group = options_.test.aggregated;
  operation.scales = nccl::scales(row.operation);
  operation.in_switch = nccl::switch_reduces(row.type, row.operation);
  if (operation.collective == nccl::Collective::kSendRecv && ranks > 1) {
    operation.send_to = static_cast<std::int32_t>((rank + 1) % ranks);
    operation.receive_from = static_cast<std::int32_t>((rank + ranks - 1) % ranks);
  }
  return operation;
}

// A hypercube has a kernel for each of its steps.
std::uint32_t NcclRows::kernels_of_iteration() const {
  if (options_.test.collective != nccl::Collective::kHypercube) return 1;
  const auto ranks = static_cast<std::uint32_t>(communicator_->ranks().size());
  return std::max(static_cast<std::uint32_t>(std::bit_width(ranks)) - 1, 1U);
}

// By one iteration, about, at all ranks together.
std::uint64_t NcclRows::moved_by(const Row& row) const {
  const std::uint64_t ranks = communicator_->ranks().size();
  const std::uint64_t size_B = nccl::size_of(operation_of(row, false, 0), ranks);
  const nccl::Collective collective = options_.test.collective;
  const bool at_root = collective == nccl::Collective::kGather || collective == nccl::Collective::kScatter;
  const bool once = collective == nccl::Collective::kBroadcast || collective == nccl::Collective::kReduce;
  const std::uint64_t times = at_root ? 1 : once ? communicator_->nodes().size() : 2 * ranks;
  return times * std::max<std::uint64_t>(size_B, 1) * options_.test.aggregated;
}

// As nccl-tests: -w iterations of the largest size, then of the smallest, before the first row. Of a large size only
// with all its other iterations: connections are there already, and what a warm-up leaves behind is the NICs' rates.
void NcclRows::add_warm_ups() {
  if (rows_.empty() || options_.test.warmup == 0) return;
  const auto before = [](const Row& a, const Row& b) { return a.count < b.count; };
  const auto [least, most] = std::minmax_element(rows_.begin(), rows_.end(), before);
  for (const auto& row : {most, least}) {
    if (options_.every_iteration || moved_by(*row) <= kRowBudget_B)
      warm_ups_.push_back(static_cast<std::size_t>(row - rows_.begin()));
  }
}

std::uint32_t NcclRows::iterations_of(const Row& row) const {
  const std::uint32_t asked = options_.test.iterations;
  if (options_.every_iteration) return asked;
  const std::uint64_t moved_B = moved_by(row);
  const bool rooted = nccl::has_root(options_.test.collective);
  const std::uint64_t least = rooted ? 4 : moved_B > 16 * kRowBudget_B ? 1 : 2;
  const std::uint64_t enough = std::max<std::uint64_t>(kRowBudget_B / moved_B, least);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(asked, enough));
}

std::uint32_t NcclRows::warm_up_iterations_of(const Row& row) const {
  return options_.every_iteration ? options_.test.warmup : std::min(options_.test.warmup, iterations_of(row));
}

std::vector<NcclRows::Phase> NcclRows::phases() const {
  std::vector<Phase> phases;
  for (const std::size_t row : warm_ups_) phases.push_back({row, false, warm_up_iterations_of(rows_[row])});
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (const bool in_place : {false, true}) phases.push_back({row, in_place, iterations_of(rows_[row])});
  }
  return phases;
}

}  // namespace weft::workload
