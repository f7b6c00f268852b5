// The words of a perftest command line, taken apart as getopt_long does it: short flags in clusters
// (-s65536, -aF), long flags with their unambiguous prefixes (--report_gbit), values after `=` or in
// the next word. What a flag means is decided in perftest_options.cc, what follows from several in
// perftest_flags_settle.cc; which flags perftest has (4.5 as
// Debian 12 ships it, and the newer ones in use) is the table in perftest_flags_table.cc.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::workload {

struct PerftestOptions;

enum class FlagId : std::uint8_t {
  kSize,
  kAll,
  kIterations,
  kDuration,
  kMargin,
  kBidirectional,
  kQps,
  kTxDepth,
  kRxDepth,
  kCqMod,
  kPostList,
  kInline,
  kOutstandingReads,
  kMtu,
  kQpTimeout,
  kAtomicType,
  kConnection,
  kNoPeak,
  kReportUnsorted,
  kReportHistogram,
  kReportGbits,
  kOutJson,
  kOutJsonFile,
  kTrafficClass,
  kServiceLevel,
  kDevice,
  kIbPort,
  kGidIndex,
  kTcpPort,
  kUseCuda,
  kUseRocm,
  kUseCudaDmabuf,
  kUseRocmDmabuf,
  kDisableRelaxed,
  kRateLimit,
  kRateLimitType,
  kRateUnits,
  kBurstSize,
  kAcceptedNoEffect,  // changes how a real host behaves, never what is measured
  kHelp,
  kVersion,
  kNotModelled,  // perftest has it, this simulator does not
};

// perftest 4.5, perftest_parameters.h.
inline constexpr std::uint64_t kAtomicSize_B = 8;
inline constexpr std::uint64_t kCqModSizeLimit_B = 8192;
inline constexpr std::uint32_t kDefaultRxDepthSend = 512;
inline constexpr std::uint32_t kMaxMtu_B = 4096;

struct PerftestFlag {
  FlagId id = FlagId::kNotModelled;
  char letter = 0;  // 0: long form only
  bool takes_value = false;
  std::string_view name;
  std::string_view remedy;  // of a flag that is not modelled; empty: leave it out
};

std::span<const PerftestFlag> perftest_flags();

struct FlagUse {
  const PerftestFlag* flag = nullptr;
  std::string written;  // "-s" or "--size", for messages
  std::string value;
};

// Every flag that was understood, in order; every word that was not adds a line to `errors`.
std::vector<FlagUse> scan_perftest_flags(std::span<const std::string> words, std::vector<std::string>& errors);

// Which flags were on the command line, and which of them had a value that was not understood.
struct FlagsSeen {
  std::set<FlagId> given;
  std::set<FlagId> failed;
};

// What follows from the flags together, in the order in which perftest settles it (its
// force_dependecies): depths within the iterations, CQ moderation, post lists, margins, inline sizes.
void settle_perftest(PerftestOptions& options, const FlagsSeen& seen, std::vector<std::string>& errors);

}  // namespace weft::workload
