#include "workload/nccl_run.h"

#include <algorithm>
#include <bit>

#include "nccl/kernel_model.h"
#include "nccl/schedule.h"
#include "nccl/verify.h"

namespace weft::workload {

namespace {

// A row moves about so much before its last iteration stands for the others.
constexpr std::uint64_t kRowBudget_B = 256 << 20;
constexpr Time_ps kSynchronize_ps =
    us(6);  // cudaStreamSynchronize: from the end of the kernel until the thread goes on

std::string_view protocol_name(nccl::Protocol protocol) {
  return protocol == nccl::Protocol::kLl ? "LL" : protocol == nccl::Protocol::kLl128 ? "LL128" : "SIMPLE";
}

std::string choice_text(const nccl::Communicator& communicator, const nccl::Operation& operation) {
  if (operation.is_point_to_point()) return "P2P";
  const nccl::Plan plan = nccl::make_plan(communicator, operation);
  return std::string(to_string(plan.choice.algorithm)) + "/" + std::string(protocol_name(plan.choice.protocol));
}

}  // namespace

NcclRun::NcclRun(NcclOptions options, CollectiveEngine::Setup setup,
                 std::shared_ptr<const nccl::Communicator> communicator, std::vector<nccl::TestDevice> devices)
    : options_(std::move(options)),
      communicator_(std::move(communicator)),
      engine_(std::move(setup)),
      times_(communicator_->ranks().size()) {
  result_.report.devices = std::move(devices);
  number_ = engine_.add_communicator(communicator_);
  engine_.on_end([this](const StreamEnd& end) {
    RankTimes& times = times_[end.tag >> 32];
    times.last_ps = end.end_ps;
    if (++times.ended == 1) times.first_ps = end.end_ps;
    const bool all = times.ended == iterations_ * kernels_of_iteration();
    if (options_.test.blocking && !all && times.ended % kernels_of_iteration() == 0)
      enqueue_iteration(static_cast<std::uint32_t>(end.tag >> 32));
  });
  add_rows();
  add_warm_ups();
}

void NcclRun::add_rows() {
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

nccl::Operation NcclRun::operation_of(const Row& row, bool in_place, std::uint32_t rank) const {
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
std::uint32_t NcclRun::kernels_of_iteration() const {
  if (options_.test.collective != nccl::Collective::kHypercube) return 1;
  const auto ranks = static_cast<std::uint32_t>(communicator_->ranks().size());
  return std::max(static_cast<std::uint32_t>(std::bit_width(ranks)) - 1, 1U);
}

// By one iteration, about, at all ranks together.
std::uint64_t NcclRun::moved_by(const Row& row) const {
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
void NcclRun::add_warm_ups() {
  if (rows_.empty() || options_.test.warmup == 0) return;
  const auto before = [](const Row& a, const Row& b) { return a.count < b.count; };
  const auto [least, most] = std::minmax_element(rows_.begin(), rows_.end(), before);
  for (const auto& row : {most, least}) {
    if (options_.every_iteration || moved_by(*row) <= kRowBudget_B)
      warm_ups_.push_back(static_cast<std::size_t>(row - rows_.begin()));
  }
}

std::uint32_t NcclRun::iterations_of(const Row& row) const {
  const std::uint32_t asked = options_.test.iterations;
  if (options_.every_iteration) return asked;
  const std::uint64_t moved_B = moved_by(row);
  const bool rooted = nccl::has_root(options_.test.collective);
  const std::uint64_t least = rooted ? 4 : moved_B > 16 * kRowBudget_B ? 1 : 2;
  const std::uint64_t enough = std::max<std::uint64_t>(kRowBudget_B / moved_B, least);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(asked, enough));
}

void NcclRun::enqueue_iteration(std::uint32_t rank) {
  nccl::Operation operation = operation_of(row_now(), is_in_place(), rank);
  for (std::uint32_t step = 0; step < kernels_of_iteration(); ++step) {
    operation.step = step;
    engine_.enqueue(number_, rank, operation, started_ps_, std::uint64_t{rank} << 32);
  }
}

bool NcclRun::start_phase(Time_ps at_ps) {
  if (next_ == rows_.size() * 2 || result_.stalled) return false;
  const Row& row = row_now();
  const auto ranks = static_cast<std::uint32_t>(communicator_->ranks().size());
  const bool in_place = is_in_place();
  iterations_ = iterations_of(row);
  if (is_warm_up())
    iterations_ = options_.every_iteration ? options_.test.warmup : std::min(options_.test.warmup, iterations_);
  started_ps_ = at_ps;
  std::fill(times_.begin(), times_.end(), RankTimes{});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    nccl::Operation operation = operation_of(row, in_place, rank);
    for (std::uint32_t step = 0; step < kernels_of_iteration(); ++step) {
      operation.step = step;
      engine_.prepare(number_, operation, rank);
    }
  }
  if (!engine_.unconnectable().empty()) {
    result_.report.failure = engine_.failure();
    return false;
  }
  engine_.start(at_ps);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t i = 0; i < (options_.test.blocking ? 1 : iterations_); ++i) enqueue_iteration(rank);
  }
  return true;
}

std::vector<Roofline> NcclRun::rooflines() {
  std::vector<Roofline> out;
  const auto ranks = static_cast<std::uint32_t>(communicator_->ranks().size());
  for (const Row& row : rows_) {
    engine_.clear_counts();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      nccl::Operation operation = operation_of(row, false, rank);
      for (operation.step = 0; operation.step < kernels_of_iteration(); ++operation.step)
        engine_.prepare(number_, operation, rank);
    }
    if (!engine_.unconnectable().empty()) return {};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      nccl::Operation operation = operation_of(row, false, rank);
      for (operation.step = 0; operation.step < kernels_of_iteration(); ++operation.step)
        engine_.count(number_, rank, operation);
    }
    const nccl::Collective collective = options_.test.collective;
    const std::uint32_t element_B = nccl::data_types()[row.type].size_B;
    Roofline& roofline = out.emplace_back();
    roofline.size_B = nccl::row_size_B(collective, row.count, element_B, ranks);
    for (const CollectiveBound& bound : engine_.bounds()) {
      const double time_s = bound.busy_ps / 1e12 / options_.test.aggregated;
      const double algbw = nccl::algorithm_bandwidth(collective, row.count, element_B, ranks, time_s);
      roofline.bounds.push_back({bound.name, bound.where, algbw * nccl::bus_factor(collective, ranks) * 1e9});
    }
  }
  return out;
}

// As -a asks: of rank 0, the mean, the least or the most of all ranks.
double NcclRun::row_time_us(Time_ps& last_ps) const {
  const std::uint32_t asked = options_.test.iterations;
  double sum = 0, least = 0, most = 0, first = 0;
  // Of iterations that are not simulated: a rank that only sends may run ahead as far as buffers go; then all have the
  // pace of whoever is last.
  Time_ps first_ps = started_ps_;
  for (const RankTimes& times : times_) {
    last_ps = std::max(last_ps, times.last_ps);
    first_ps = std::max(first_ps, times.first_ps);
  }
  const double period_ps = iterations_ > 1 && kernels_of_iteration() == 1
                               ? static_cast<double>(last_ps - first_ps) / (iterations_ - 1)
                               : static_cast<double>(last_ps - started_ps_) / iterations_;
  for (std::size_t rank = 0; rank < times_.size(); ++rank) {
    const RankTimes& times = times_[rank];
    const double all_ps = static_cast<double>(times.last_ps - started_ps_ + kSynchronize_ps) +
                          period_ps * static_cast<double>(asked - iterations_);
    const double each_us = all_ps / asked / options_.test.aggregated / static_cast<double>(kMicrosecond_ps);
    if (rank == 0) first = least = each_us;
    sum += each_us;
    least = std::min(least, each_us);
    most = std::max(most, each_us);
  }
  switch (options_.test.average) {
    case 0:
      return first;
    case 2:
      return least;
    case 3:
      return most;
    default:
      return sum / static_cast<double>(times_.size());
  }
}

// -C: what the host thread is in NCCL's calls.
double NcclRun::call_time_us() const {
  const nccl::RankPlace place = communicator_->ranks().front();
  const nccl::KernelModel model =
      nccl::kernel_model(engine_.cluster().machines[place.machine].places.gpus[place.gpu].model);
  return static_cast<double>(model.call_ps * kernels_of_iteration()) / options_.test.aggregated /
         static_cast<double>(kMicrosecond_ps);
}

void NcclRun::finish_phase(bool interrupted) {
  bool all = true;
  for (const RankTimes& times : times_) all = all && times.ended == iterations_ * kernels_of_iteration();
  if (is_warm_up() && all) {
    ++warmed_up_;
    return;
  }
  warmed_up_ = warm_ups_.size();
  const Row& row = row_now();
  const bool in_place = is_in_place();
  const std::uint64_t ranks = communicator_->ranks().size();
  ++next_;
  nccl::TestReport& report = result_.report;
  if (!in_place) {
    nccl::TestRow& fresh = report.rows.emplace_back();
    const std::uint32_t element_B = nccl::data_types()[row.type].size_B;
    fresh.size_B = nccl::row_size_B(options_.test.collective, row.count, element_B, ranks);
    fresh.count = row.count;
    fresh.type = nccl::data_types()[row.type].name;
    fresh.operation = nccl::has_reduction(options_.test.collective) ? nccl::reduction_names()[row.operation]
                                                                    : std::string_view("none");
    fresh.root = row.root;
    result_.choices.push_back(choice_text(*communicator_, operation_of(row, false, 0)));
  }
  report.failure = engine_.failure();
  result_.use = engine_.use();
  if (!all) {
    result_.stalled = !interrupted;
    return;
  }
  nccl::TestMeasure measure;
  Time_ps last_ps = 0;
  measure.time_us = options_.test.cpu_time ? call_time_us() : row_time_us(last_ps);
  measure.iterations = iterations_ * options_.test.aggregated;
  const std::uint32_t element_B = nccl::data_types()[row.type].size_B;
  measure.algbw =
      nccl::algorithm_bandwidth(options_.test.collective, row.count, element_B, ranks, measure.time_us / 1e6);
  measure.busbw = measure.algbw * nccl::bus_factor(options_.test.collective, ranks);
  const bool checkable = !in_place || (options_.test.collective != nccl::Collective::kAlltoAll &&
                                       options_.test.collective != nccl::Collective::kSendRecv &&
                                       options_.test.collective != nccl::Collective::kHypercube);
  if (options_.test.check && checkable) {
    std::uint64_t wrong = 0;
    for (std::uint32_t step = 0; step < kernels_of_iteration(); ++step) {
      wrong += nccl::wrong_elements(*communicator_, [&](std::uint32_t rank) {
        nccl::Operation operation = operation_of(row, in_place, rank);
        operation.step = step;
        return operation;
      });
    }
    measure.wrong = wrong;
  }
  report.rows.back().places[in_place ? 1 : 0] = measure;
}

}  // namespace weft::workload
