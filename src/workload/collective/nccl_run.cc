#include "workload/collective/nccl_run.h"

#include <algorithm>
#include <bit>

#include "nccl/decide/kernel_model.h"
#include "nccl/schedule/schedule.h"
#include "nccl/schedule/verify.h"
#include "nccl/text/tests_options.h"

namespace weft::workload {

namespace {

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
      rows_(options_, communicator_),
      times_(communicator_->ranks().size()) {
  result_.report.devices = std::move(devices);
  number_ = engine_.add_communicator(communicator_);
  engine_.on_end([this](const StreamEnd& end) {
    RankTimes& times = times_[end.tag >> 32];
    times.last_ps = end.end_ps;
    if (++times.ended == 1) times.first_ps = end.end_ps;
    const bool all = times.ended == iterations_ * rows_.kernels_of_iteration();
    if (options_.test.blocking && !all && times.ended % rows_.kernels_of_iteration() == 0)
      enqueue_iteration(static_cast<std::uint32_t>(end.tag >> 32));
  });
}

void NcclRun::enqueue_iteration(std::uint32_t rank) {
  nccl::Operation operation = rows_.operation_of(row_now(), is_in_place(), rank);
  for (std::uint32_t step = 0; step < rows_.kernels_of_iteration(); ++step) {
    operation.step = step;
    engine_.enqueue(number_, rank, operation, started_ps_, std::uint64_t{rank} << 32);
  }
}

bool NcclRun::start_phase(Time_ps at_ps) {
  if (next_ == rows_.all().size() * 2 || result_.stalled) return false;
  const Row& row = row_now();
  const auto ranks = static_cast<std::uint32_t>(communicator_->ranks().size());
  const bool in_place = is_in_place();
  iterations_ = rows_.iterations_of(row);
  if (is_warm_up()) iterations_ = rows_.warm_up_iterations_of(row);
  started_ps_ = at_ps;
  std::fill(times_.begin(), times_.end(), RankTimes{});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    nccl::Operation operation = rows_.operation_of(row, in_place, rank);
    for (std::uint32_t step = 0; step < rows_.kernels_of_iteration(); ++step) {
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
  for (const Row& row : rows_.all()) {
    engine_.clear_counts();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      nccl::Operation operation = rows_.operation_of(row, false, rank);
      for (operation.step = 0; operation.step < rows_.kernels_of_iteration(); ++operation.step)
        engine_.prepare(number_, operation, rank);
    }
    if (!engine_.unconnectable().empty()) return {};
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      nccl::Operation operation = rows_.operation_of(row, false, rank);
      for (operation.step = 0; operation.step < rows_.kernels_of_iteration(); ++operation.step)
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
  const double period_ps = iterations_ > 1 && rows_.kernels_of_iteration() == 1
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
  return static_cast<double>(model.call_ps * rows_.kernels_of_iteration()) / options_.test.aggregated /
         static_cast<double>(kMicrosecond_ps);
}

void NcclRun::finish_phase(bool interrupted) {
  bool all = true;
  for (const RankTimes& times : times_) all = all && times.ended == iterations_ * rows_.kernels_of_iteration();
  if (is_warm_up() && all) {
    ++warmed_up_;
    return;
  }
  warmed_up_ = rows_.warm_ups().size();
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
    result_.choices.push_back(choice_text(*communicator_, rows_.operation_of(row, false, 0)));
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
    for (std::uint32_t step = 0; step < rows_.kernels_of_iteration(); ++step) {
      wrong += nccl::wrong_elements(*communicator_, [&](std::uint32_t rank) {
        nccl::Operation operation = rows_.operation_of(row, in_place, rank);
        operation.step = step;
        return operation;
      });
    }
    measure.wrong = wrong;
  }
  report.rows.back().places[in_place ? 1 : 0] = measure;
}

}  // namespace weft::workload
