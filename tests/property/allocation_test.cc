// Nothing is allocated per packet once a run is warm: twice as many packets, the same number of allocations.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "support/labs.h"

namespace {

std::atomic<std::uint64_t> allocations = 0;

void* counted(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  std::abort();
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace weft {
namespace {

struct Count {
  std::uint64_t allocations;
  std::uint64_t packets;
};

// Everything between the start of run_lab and its end, set-up included: it is the same for every number of iterations.
Count count(const workload::PerftestOptions& options) {
  lab::Lab lab = support::two_host_lab();
  lab.workloads.push_back(support::perftest("bw", options));
  std::uint64_t before = allocations.load();
  auto result = lab::run_lab(lab, {});
  std::uint64_t during = allocations.load() - before;
  return {during, result->links[0].ledger.sent + result->links[1].ledger.sent};
}

void expect_steady(workload::PerftestOptions options, std::uint64_t iterations) {
  options.iterations = iterations;
  count(options);  // warm-up
  Count once = count(options);
  options.iterations = 2 * iterations;
  Count twice = count(options);
  EXPECT_GT(twice.packets, once.packets + iterations);
  EXPECT_EQ(twice.allocations, once.allocations);
  EXPECT_GT(once.allocations, 0U) << "the counter works";
}

TEST(Allocation, WriteBandwidth) {
  expect_steady(support::write_bw(65536, 0), 2000);
}
TEST(Allocation, SmallWrites) {
  workload::PerftestOptions options = support::write_bw(8, 0);
  options.cq_mod = 100;
  expect_steady(options, 10'000);
}
TEST(Allocation, ReadBandwidth) {
  workload::PerftestOptions options = support::write_bw(65536, 0);
  options.verb = workload::PerftestVerb::kRead;
  expect_steady(options, 2000);
}
TEST(Allocation, SendBandwidthBothWays) {
  workload::PerftestOptions options = support::write_bw(16384, 0);
  options.verb = workload::PerftestVerb::kSend;
  options.bidirectional = true;
  options.qps = 4;
  expect_steady(options, 2000);
}
TEST(Allocation, Atomics) {
  workload::PerftestOptions options = support::write_bw(8, 0);
  options.verb = workload::PerftestVerb::kAtomic;
  expect_steady(options, 10'000);
}

}  // namespace
}  // namespace weft
