#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "spec/perftest_options.h"
#include "tools/perftest/flags.h"

namespace weft::workload {
namespace {

// perftest 4.5, perftest_parameters.h.
constexpr std::uint64_t kLargestOfAllSizes_B = 1 << 23;
constexpr std::uint64_t kIterationsWithPeak = 20'000;
constexpr std::uint32_t kMaxRxDepthUd = 16'000;
constexpr std::uint32_t kMaxInlineUd_B = 884;

class Settler {
 public:
  Settler(PerftestOptions& options, const FlagsSeen& seen, std::vector<std::string>& errors)
      : options_(options), seen_(seen), errors_(errors) {}
  void settle();

 private:
  void settle_duration();
  void settle_size();
  void settle_depths();
  void settle_post_list();
  void settle_inline();
  void settle_gpu();
  void settle_rate_limit();

  bool is_send() const { return options_.verb == PerftestVerb::kSend; }
  bool given(FlagId id) const { return seen_.given.contains(id); }
  // Whether a rule may look at this flag: its value, if there was one, was understood.
  bool sound(FlagId id) const { return !seen_.failed.contains(id); }

  PerftestOptions& options_;
  const FlagsSeen& seen_;
  std::vector<std::string>& errors_;
};

void Settler::settle_gpu() {
  const bool wants = options_.gpu.has_value();
  if (options_.dmabuf && !wants && sound(FlagId::kUseCuda) && sound(FlagId::kUseRocm))
    errors_.push_back(
        "--use_cuda_dmabuf and --use_rocm_dmabuf say how GPU memory is registered; name a GPU with "
        "--use_cuda or --use_rocm");
  if (wants && options_.verb == PerftestVerb::kAtomic)
    errors_.push_back("--use_cuda: perftest supports no atomics in GPU memory; use write, read or send");
  // The CPU waits for a byte of the buffer in write_lat, and cannot see GPU memory.
  if (wants && options_.verb == PerftestVerb::kWrite && options_.latency)
    errors_.push_back("--use_cuda: perftest supports CUDA latency tests with read and send verbs only; use send_lat");
}

void Settler::settle() {
  settle_gpu();
  settle_duration();
  settle_size();
  settle_depths();
  settle_post_list();
  settle_inline();
  settle_rate_limit();
}

// perftest posts a burst, and then no more until its time is over.
void Settler::settle_rate_limit() {
  PerftestOptions& o = options_;
  if (!sound(FlagId::kRateLimit) || !sound(FlagId::kRateLimitType) || !sound(FlagId::kRateUnits)) return;
  if (!given(FlagId::kRateLimit)) {
    if (given(FlagId::kBurstSize)) errors_.push_back("--burst_size: there are bursts only with --rate_limit");
    if (given(FlagId::kRateLimitType) || given(FlagId::kRateUnits))
      errors_.push_back("--rate_limit_type and --rate_units say how --rate_limit is meant; give that too");
    return;
  }
  if (!given(FlagId::kRateLimitType)) {
    errors_.push_back(
        "--rate_limit: perftest leaves the limit to the NIC, which is not modelled (yet); add --rate_limit_type=SW");
  }
  if (o.latency || o.verb == PerftestVerb::kAtomic || (is_send() && o.bidirectional))
    errors_.push_back("--rate_limit: perftest's own limit is for write_bw, read_bw and send_bw without -b");
  if (o.burst_size == 0) o.burst_size = o.tx_depth;
  if (sound(FlagId::kBurstSize) && burst_interval_ps(o, o.size_B) == 0) {
    errors_.push_back(
        fmt::format("--rate_limit {}: less than one burst of {} messages in a second; make --burst_size smaller",
                    o.rate_limit, o.burst_size));
  }
}

void Settler::settle_duration() {
  PerftestOptions& o = options_;
  if (!given(FlagId::kDuration)) {
    if (given(FlagId::kMargin) && sound(FlagId::kMargin)) {
      errors_.push_back("-f: a margin is cut off a duration; give the duration with -D, or leave -f out");
    }
    o.no_peak = o.no_peak || (!o.latency && o.iterations > kIterationsWithPeak);
    return;
  }
  if (given(FlagId::kIterations)) {
    errors_.push_back("-n and -D: a test runs by iterations or by time; give one of them");
  }
  if (o.all_sizes) errors_.push_back("-a and -D: perftest runs all sizes only by iterations; leave out -D, or give -s");
  if (!given(FlagId::kMargin)) o.margin_s = o.duration_s / 4;
  if (sound(FlagId::kDuration) && sound(FlagId::kMargin) && o.duration_s <= 2 * o.margin_s) {
    errors_.push_back(fmt::format("-f {}: a margin at each end leaves nothing of {} s; make -D more than twice -f",
                                  o.margin_s, o.duration_s));
  }
  o.iterations = 0;
  o.no_peak = !o.latency;
}

void Settler::settle_size() {
  PerftestOptions& o = options_;
  if (o.verb == PerftestVerb::kAtomic) {
    if (o.all_sizes || (sound(FlagId::kSize) && o.size_B != kAtomicSize_B)) {
      errors_.push_back(fmt::format("{}: atomics are always 8 bytes; leave it out", o.all_sizes ? "-a" : "-s"));
    }
    return;
  }
  if (o.ud) {
    // The largest datagram is the path MTU, which is known here only if -m names it; the run lowers it further.
    const std::uint64_t limit_B = o.mtu_B != 0 && sound(FlagId::kMtu) ? o.mtu_B : kMaxMtu_B;
    if (o.all_sizes || !given(FlagId::kSize)) {
      o.size_B = o.all_sizes ? limit_B : std::min<std::uint64_t>(o.size_B, limit_B);
    } else if (o.size_B > limit_B && sound(FlagId::kSize)) {
      errors_.push_back(
          fmt::format("-s {}: a UD message cannot be larger than the MTU; at most {}", o.size_B, limit_B));
    }
    return;
  }
  if (o.all_sizes) o.size_B = kLargestOfAllSizes_B;
}

void Settler::settle_depths() {
  PerftestOptions& o = options_;
  const bool by_iterations = !given(FlagId::kDuration);
  if (by_iterations) {
    o.tx_depth = static_cast<std::uint32_t>(std::min<std::uint64_t>(o.tx_depth, o.iterations));
    if (is_send()) o.rx_depth = static_cast<std::uint32_t>(std::min<std::uint64_t>(o.rx_depth, o.iterations));
    if (o.ud && o.rx_depth == kDefaultRxDepthSend) {
      o.rx_depth = static_cast<std::uint32_t>(std::min<std::uint64_t>(o.iterations, kMaxRxDepthUd));
    }
  }
  // An odd number of receives goes wrong in perftest's SEND, so it adds one.
  if (is_send() && !o.all_sizes && o.rx_depth % 2 == 1) ++o.rx_depth;
  if (o.size_B > kCqModSizeLimit_B && !o.ud && !o.all_sizes && !o.cq_mod_given) o.cq_mod = 1;
  o.cq_mod = std::min(o.cq_mod, o.tx_depth);
}

void Settler::settle_post_list() {
  PerftestOptions& o = options_;
  if (o.post_list <= 1 || !sound(FlagId::kPostList)) return;
  if (o.latency) {
    errors_.push_back("-l: post lists exist only in bandwidth tests; leave it out");
    return;
  }
  if (!given(FlagId::kDuration) && sound(FlagId::kIterations) && o.iterations % o.post_list != 0) {
    errors_.push_back(fmt::format("-l {}: the number of iterations ({}) must be a multiple of it; try -n {}",
                                  o.post_list, o.iterations,
                                  std::max<std::uint64_t>(o.iterations / o.post_list, 1) * o.post_list));
  }
  if (o.post_list > o.tx_depth && sound(FlagId::kTxDepth)) {
    errors_.push_back(fmt::format("-l {}: does not fit a send queue of {}; perftest would wait forever; use -t {}",
                                  o.post_list, o.tx_depth, o.post_list));
  }
  if (!o.cq_mod_given) {
    o.cq_mod = o.post_list;
  } else if (o.post_list % o.cq_mod != 0) {
    errors_.push_back(fmt::format("-Q {}: -l {} must be a multiple of it; leave out -Q", o.cq_mod, o.post_list));
  }
}

void Settler::settle_inline() {
  PerftestOptions& o = options_;
  if (given(FlagId::kInline)) {
    if (o.ud) o.inline_B = std::min(o.inline_B, kMaxInlineUd_B);
  } else if (o.latency) {
    // Chosen by perftest as what fits a ConnectX work queue entry (DEF_INLINE_*).
    if (o.verb == PerftestVerb::kWrite) o.inline_B = 220;
    if (is_send()) o.inline_B = o.ud ? 188 : 236;
  }
}

}  // namespace

std::int64_t burst_interval_ps(const PerftestOptions& options, std::uint64_t size_B) {
  double per_s = options.rate_limit;
  if (options.rate_units == RateUnits::kGbps) per_s = options.rate_limit * 1e9 / (static_cast<double>(size_B) * 8);
  if (options.rate_units == RateUnits::kMiBps) per_s = options.rate_limit * 1048576 / static_cast<double>(size_B);
  const auto bursts = static_cast<std::int64_t>(std::min(per_s, 1e12)) / options.burst_size;
  return bursts == 0 ? 0 : kSecond_ps / bursts;
}

void settle_perftest(PerftestOptions& options, const FlagsSeen& seen, std::vector<std::string>& errors) {
  Settler(options, seen, errors).settle();
}

}  // namespace weft::workload
