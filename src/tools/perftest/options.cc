#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/nearest.h"
#include "spec/perftest_options.h"
#include "tools/perftest/flags.h"

namespace weft::workload {
namespace {

// perftest 4.5, perftest_parameters.h.
constexpr std::uint64_t kDefaultSizeBw_B = 65536;
constexpr std::uint64_t kDefaultSizeLat_B = 2;
constexpr std::uint64_t kMaxSize_B = 0x7fffffff;
constexpr std::uint64_t kMinIterations = 5;
constexpr std::uint64_t kMaxIterations = 100'000'000;
constexpr std::uint32_t kMaxInline_B = 912;
constexpr std::uint32_t kDeviceMaxReads = 16;
// Simulated seconds; far above any real run, far below the end of Time_ps.
constexpr std::uint32_t kMaxDuration_s = 1'000'000;

constexpr std::array<std::string_view, 8> kTests = {"write_bw", "write_lat", "send_bw",   "send_lat",
                                                    "read_bw",  "read_lat",  "atomic_bw", "atomic_lat"};

std::string_view verb_word(PerftestVerb verb) {
  switch (verb) {
    case PerftestVerb::kWrite:
      return "write";
    case PerftestVerb::kRead:
      return "read";
    case PerftestVerb::kSend:
      return "send";
    case PerftestVerb::kAtomic:
      return "atomic";
  }
  return "";
}

// 010 means 8 to perftest (strtol, base 0) and 10 to most readers, so it is refused.
bool reads_as_octal(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && text.find_first_not_of("0123456789") == text.npos;
}
constexpr std::string_view kOctalError = "perftest would read this as octal; write it without the leading 0";

std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (reads_as_octal(text)) return std::nullopt;
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Parser {
 public:
  Parser(std::string_view test, std::span<const std::string> words) {
    options_.words.assign(words.begin(), words.end());
    const std::string_view name = test.starts_with("ib_") ? test.substr(3) : test;
    const auto it = std::find(kTests.begin(), kTests.end(), name);
    if (it == kTests.end()) {
      const std::vector<std::string> near = nearest(name, kTests, 1);
      errors_.push_back(fmt::format("'{}': not a perftest that weft runs; {}", test,
                                    near.empty() ? fmt::format("choose one of {}", fmt::join(kTests, ", "))
                                                 : fmt::format("did you mean {}?", near[0])));
      return;
    }
    const auto index = static_cast<std::size_t>(it - kTests.begin());
    constexpr std::array kVerbs = {PerftestVerb::kWrite, PerftestVerb::kSend, PerftestVerb::kRead,
                                   PerftestVerb::kAtomic};
    options_.verb = kVerbs[index / 2];
    options_.latency = index % 2 == 1;
    set_defaults();
    for (const FlagUse& use : scan_perftest_flags(words, errors_)) apply(use);
    settle_perftest(options_, seen_, errors_);
  }

  tl::expected<PerftestOptions, std::vector<std::string>> result() && {
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return std::move(options_);
  }

 private:
  bool is_rdma_read_like() const {
    return options_.verb == PerftestVerb::kRead || options_.verb == PerftestVerb::kAtomic;
  }
  bool is_send() const { return options_.verb == PerftestVerb::kSend; }

  void set_defaults() {
    PerftestOptions& o = options_;
    o.size_B = o.verb == PerftestVerb::kAtomic ? kAtomicSize_B : o.latency ? kDefaultSizeLat_B : kDefaultSizeBw_B;
    o.iterations = o.verb == PerftestVerb::kWrite && !o.latency ? 5000 : 1000;
    o.tx_depth = o.latency ? 1 : 128;
    o.rx_depth = is_send() ? kDefaultRxDepthSend : 1;
    o.outstanding_reads = kDeviceMaxReads;
  }

  template <typename... Args>
  void error(const FlagUse& use, fmt::format_string<Args...> text, Args&&... args) {
    seen_.failed.insert(use.flag->id);
    const std::string value = use.flag->takes_value ? fmt::format(" {}", use.value) : "";
    errors_.push_back(fmt::format("{}{}: {}", use.written, value, fmt::format(text, std::forward<Args>(args)...)));
  }

  template <typename Number>
  bool number(const FlagUse& use, std::uint64_t min, std::uint64_t max, Number& target) {
    const std::optional<std::uint64_t> value = parse_number(use.value);
    if (reads_as_octal(use.value)) {
      error(use, "{}", kOctalError);
    } else if (!value) {
      error(use, "not a number; write one from {} to {}", min, max);
    } else if (*value < min || *value > max) {
      error(use, "should be between {} and {}", min, max);
    } else {
      target = static_cast<Number>(*value);
      return true;
    }
    return false;
  }

  bool only_bandwidth(const FlagUse& use, std::string_view what) {
    if (options_.latency) error(use, "{} only in bandwidth tests; use {}_bw", what, verb_word(options_.verb));
    return !options_.latency;
  }
  bool only_latency(const FlagUse& use, std::string_view what) {
    if (!options_.latency) error(use, "{} only in latency tests; use {}_lat", what, verb_word(options_.verb));
    return options_.latency;
  }

  void apply(const FlagUse& use);
  void apply_size(const FlagUse& use);
  void apply_rate_limit(const FlagUse& use);
  void apply_connection(const FlagUse& use);

  PerftestOptions options_;
  std::vector<std::string> errors_;
  FlagsSeen seen_;
};

void Parser::apply(const FlagUse& use) {
  PerftestOptions& o = options_;
  std::uint64_t checked_only = 0;
  seen_.given.insert(use.flag->id);
  switch (use.flag->id) {
    case FlagId::kSize:
      apply_size(use);
      break;
    case FlagId::kAll:
      o.all_sizes = true;
      break;
    case FlagId::kIterations:
      number(use, kMinIterations, kMaxIterations, o.iterations);
      break;
    case FlagId::kDuration:
      number(use, 1, kMaxDuration_s, o.duration_s);
      break;
    case FlagId::kMargin:
      number(use, 0, kMaxDuration_s, o.margin_s);
      break;
    case FlagId::kBidirectional:
      o.bidirectional = only_bandwidth(use, "bidirectional traffic is available");
      break;
    case FlagId::kQps:
      if (only_bandwidth(use, "several queue pairs are available")) number(use, 1, 16384, o.qps);
      break;
    case FlagId::kTxDepth:
      number(use, 1, 15000, o.tx_depth);
      break;
    case FlagId::kRxDepth:
      if (number(use, 1, 16384, o.rx_depth) && !is_send() && o.rx_depth > 1) {
        error(use, "only SEND consumes receives, so the depth of the others is 1; leave it out");
      }
      break;
    case FlagId::kCqMod:
      o.cq_mod_given = number(use, 1, 1024, o.cq_mod);
      break;
    case FlagId::kPostList:
      number(use, 1, 15000, o.post_list);
      break;
    case FlagId::kInline:
      if (is_rdma_read_like()) {
        error(use, "READ and atomics send no data, so nothing can be inline; leave it out");
      } else {
        number(use, 0, kMaxInline_B, o.inline_B);
      }
      break;
    case FlagId::kOutstandingReads:
      if (!is_rdma_read_like()) {
        error(use, "outstanding reads exist only in read and atomic tests; leave it out");
      } else if (number(use, 0, 255, o.outstanding_reads) && o.outstanding_reads == 0) {
        o.outstanding_reads = kDeviceMaxReads;
      }
      break;
    case FlagId::kMtu:
      if (number(use, 256, kMaxMtu_B, o.mtu_B) && (o.mtu_B & (o.mtu_B - 1)) != 0) {
        error(use, "not an RDMA path MTU; choose from 256, 512, 1024, 2048, 4096");
      }
      break;
    case FlagId::kQpTimeout:
      number(use, 0, 31, o.qp_timeout);
      break;
    case FlagId::kAtomicType:
      if (o.verb != PerftestVerb::kAtomic) {
        error(use, "the atomic operation can be chosen only in atomic_bw and atomic_lat; leave it out");
      } else if (use.value == "CMP_AND_SWAP" || use.value == "FETCH_AND_ADD") {
        o.atomic = use.value == "CMP_AND_SWAP" ? AtomicKind::kCompareSwap : AtomicKind::kFetchAdd;
      } else {
        error(use, "not an atomic operation; choose CMP_AND_SWAP or FETCH_AND_ADD");
      }
      break;
    case FlagId::kConnection:
      apply_connection(use);
      break;
    case FlagId::kNoPeak:
      o.no_peak = only_bandwidth(use, "a peak is measured");
      break;
    case FlagId::kReportUnsorted:
      o.report_unsorted = only_latency(use, "single samples exist");
      break;
    case FlagId::kReportHistogram:
      o.report_histogram = only_latency(use, "single samples exist");
      break;
    case FlagId::kReportGbits:
      o.report_gbits = true;
      break;
    case FlagId::kOutJson:
      if (o.out_json_file.empty()) o.out_json_file = "perftest_out.json";
      break;
    case FlagId::kOutJsonFile:
      if (use.value.empty()) error(use, "needs a file name; write --out_json_file=FILE");
      o.out_json_file = use.value;
      break;
    case FlagId::kTrafficClass:
      if (number(use, 0, 255, checked_only)) o.traffic_class = static_cast<std::uint32_t>(checked_only);
      break;
    case FlagId::kServiceLevel:
      // 802.1p has eight priorities, InfiniBand sixteen service levels.
      if (number(use, 0, 7, checked_only)) o.service_level = static_cast<std::uint32_t>(checked_only);
      break;
    case FlagId::kIbPort:
      if (number(use, 1, 255, checked_only) && checked_only != 1)
        error(use, "a device has one port, 1; choose another device with -d, or another port as client and server");
      break;
    case FlagId::kGidIndex:
      // The table that every device has, as on mlx5 with one address.
      if (number(use, 0, 255, checked_only) && checked_only != 3) {
        error(use, "{}; leave it out, or write -x 3, RoCE v2 with the port's address",
              checked_only > 3    ? "there is no such GID, the last is 3"
              : checked_only == 1 ? "the link-local GID is not used in labs"
                                  : "GIDs 0 and 2 are RoCE v1, which is not modelled");
      }
      break;
    case FlagId::kTcpPort:
      number(use, 1, 65535, checked_only);
      break;
    case FlagId::kDevice:
      if (use.value.empty()) error(use, "needs the name of a device; write -d mlx5_0");
      o.device = use.value;
      break;
    case FlagId::kUseCuda:
    case FlagId::kUseRocm:
      if (o.gpu) {
        error(use, "memory is of one GPU; give --use_cuda or --use_rocm once");
      } else if (number(use, 0, 1023, checked_only)) {
        o.gpu = static_cast<std::uint32_t>(checked_only);
        o.rocm = use.flag->id == FlagId::kUseRocm;
      }
      break;
    case FlagId::kUseCudaDmabuf:
    case FlagId::kUseRocmDmabuf:
      o.dmabuf = true;
      break;
    case FlagId::kDisableRelaxed:
      o.relaxed_ordering = false;
      break;
    case FlagId::kRateLimit:
      apply_rate_limit(use);
      break;
    case FlagId::kRateLimitType:
      if (use.value == "HW" || use.value == "PP") {
        error(use, "limits of the NIC are not modelled (yet); use SW");
      } else if (use.value != "SW") {
        error(use, "perftest has HW, SW and PP; use SW");
      }
      break;
    case FlagId::kRateUnits:
      if (use.value == "g" || use.value == "M" || use.value == "p") {
        o.rate_units = use.value == "g" ? RateUnits::kGbps : use.value == "M" ? RateUnits::kMiBps : RateUnits::kPps;
      } else {
        error(use, "use M (MiB/s), g (Gb/s) or p (messages/s)");
      }
      break;
    case FlagId::kBurstSize:
      number(use, 1, 15000, o.burst_size);
      break;
    case FlagId::kAcceptedNoEffect:
      break;
    case FlagId::kHelp:
      errors_.push_back(fmt::format("{}: see weft perftest --help", use.written));
      break;
    case FlagId::kVersion:
      errors_.push_back(fmt::format("{}: see weft --version", use.written));
      break;
    case FlagId::kNotModelled:
      errors_.push_back(fmt::format("{}: perftest has this, weft does not model it (yet); {}", use.written,
                                    use.flag->remedy.empty() ? "leave it out" : use.flag->remedy));
      break;
  }
}

void Parser::apply_rate_limit(const FlagUse& use) {
  double rate = 0;
  const char* end = use.value.data() + use.value.size();
  const auto [stop, problem] = std::from_chars(use.value.data(), end, rate);
  if (problem != std::errc() || stop != end || !(rate > 0 && rate < 1e9)) {
    error(use, "not a rate; write a number above 0");
    return;
  }
  options_.rate_limit = rate;
}

void Parser::apply_size(const FlagUse& use) {
  std::string_view digits = use.value;
  std::uint64_t factor = 1;
  if (digits.ends_with('K')) factor = 1024;
  if (digits.ends_with('M')) factor = 1U << 20;
  if (factor != 1) digits.remove_suffix(1);
  const std::optional<std::uint64_t> value = parse_number(digits);
  if (reads_as_octal(digits)) {
    error(use, "{}", kOctalError);
  } else if (!value) {
    error(use, "not a size; write bytes, or K or M for KiB and MiB (65536, 64K, 1M)");
  } else if (*value < 1 || *value > kMaxSize_B / factor) {
    error(use, "message size should be between 1 and {}", kMaxSize_B);
  } else {
    options_.size_B = *value * factor;
  }
}

void Parser::apply_connection(const FlagUse& use) {
  constexpr std::array<std::string_view, 5> kOthers = {"UC", "XRC", "DC", "SRD", "RawEth"};
  if (use.value == "RC" || use.value == "UD") {
    options_.ud = use.value == "UD";
    if (options_.ud && !is_send()) error(use, "UD carries only SEND; use send_bw or send_lat, or -c RC");
  } else if (std::find(kOthers.begin(), kOthers.end(), use.value) != kOthers.end()) {
    error(use, "perftest has this, weft does not model it (yet); choose RC, or UD for SEND");
  } else {
    error(use, "not a connection type; choose RC, or UD for SEND");
  }
}

}  // namespace

tl::expected<PerftestOptions, std::vector<std::string>> parse_perftest(std::string_view test,
                                                                       std::span<const std::string> words) {
  return Parser(test, words).result();
}

std::string perftest_name(const PerftestOptions& options) {
  return fmt::format("{}_{}", verb_word(options.verb), options.latency ? "lat" : "bw");
}

}  // namespace weft::workload
