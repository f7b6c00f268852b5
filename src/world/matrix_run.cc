#include "world/matrix_run.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <thread>

#include "tools/perftest/report.h"
#include "world/runner.h"

namespace weft::lab {
namespace {

using workload::PerftestOptions;

double value_of(const PerftestOptions& options, const workload::PerftestRow& row) {
  const workload::PerftestNumbers numbers = workload::perftest_numbers(options, row);
  double value = numbers.bw_average_MiBps;
  if (options.report_gbits) value = numbers.bw_average_Gbps;
  if (options.latency) value = options.duration_s > 0 ? numbers.t_avg_us : numbers.t_typical_us;
  return std::round(value * 100) / 100;  // as perftest prints it
}

void measure(Lab& lab, MatrixCell& cell, std::atomic<bool>* cancel) {
  lab.workloads.front().client = cell.pair.client;
  lab.workloads.front().server = cell.pair.server;
  lab.workloads.front().client_function = cell.pair.client_function;
  lab.workloads.front().server_function = cell.pair.server_function;
  SessionOptions options;
  options.cancel = cancel;
  auto result = run_lab(lab, options);
  if (!result) {
    cell.failure = result.error();
    return;
  }
  const workload::PerftestResult& measured = *result->workloads.front().as<workload::PerftestResult>();
  if (result->interrupted || measured.rows.empty()) {
    cell.failure = "interrupted";
  } else if (!measured.rows.back().failure.empty()) {
    cell.failure = measured.rows.back().failure;
  } else {
    cell.value = value_of(*lab.workloads.front().as<PerftestOptions>(), measured.rows.back());
  }
}

}  // namespace

Lab with_perftest(const Lab& lab, const PerftestOptions& options, const PortPair& pair) {
  Lab changed = lab;
  WorkloadConfig workload;
  workload.name = workload::perftest_name(options);
  workload.client = pair.client;
  workload.server = pair.server;
  workload.client_function = pair.client_function;
  workload.server_function = pair.server_function;
  workload.options = options;
  changed.workloads = {std::move(workload)};
  changed.expectations.clear();
  changed.sample_ps.reset();
  changed.duration_ps.reset();
  return changed;
}

PerftestMatrix run_matrix(const Lab& lab, const PortPairs& ports, const PerftestOptions& options,
                          const std::vector<PortPair>& pairs, const MatrixOptions& how) {
  PerftestMatrix matrix;
  matrix.options = options;
  for (const PortPair& pair : pairs) {
    MatrixCell cell;
    cell.pair = pair;
    cell.switches = ports.switches_between(pair);
    matrix.cells.push_back(std::move(cell));
  }
  std::atomic<std::size_t> next{0}, done{0};
  std::mutex progress;
  const auto work = [&] {
    Lab own = with_perftest(lab, options, pairs.front());
    for (std::size_t i = next++; i < matrix.cells.size(); i = next++) {
      if (how.cancel != nullptr && how.cancel->load()) {
        matrix.cells[i].failure = "interrupted";
        continue;
      }
      measure(own, matrix.cells[i], how.cancel);
      const std::size_t count = ++done;
      if (!how.progress) continue;
      std::lock_guard lock(progress);
      how.progress(count, matrix.cells.size());
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t < std::min<std::size_t>(how.threads, pairs.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  matrix.interrupted = how.cancel != nullptr && how.cancel->load();
  find_odd(matrix);
  return matrix;
}

}  // namespace weft::lab
