// The lines that NCCL_DEBUG=INFO prints while a communicator starts, and for each collective with TUNING: which
// devices, which transports, which rings and trees. Texts are NCCL's (2.30), so that they are found where an engineer
// looks for them; pointers, process and thread numbers are made up, the same in every run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "nccl/decide/communicator.h"

namespace weft::nccl {

enum class DebugLevel : std::uint8_t { kNone, kVersion, kWarn, kInfo };

// Bits, as a line may belong to several.
enum Subsystem : std::uint32_t {
  kInit = 1 << 0,
  kColl = 1 << 1,
  kP2pTransport = 1 << 2,
  kShmTransport = 1 << 3,
  kNetTransport = 1 << 4,
  kGraphSearch = 1 << 5,
  kTuningModel = 1 << 6,
  kEnv = 1 << 7,
  kBootstrap = 1 << 8,
  kNvlsTransport = 1 << 10,
  kOtherSubsystems = 1 << 9,  // that have no lines here
  kEverything = 0xffffffff
};

struct LogFilter {
  DebugLevel level = DebugLevel::kNone;
  std::uint32_t subsystems = kInit | kBootstrap | kEnv;
  bool shows(std::uint32_t of_line) const { return level == DebugLevel::kInfo && (subsystems & of_line) != 0; }
};
// Filter from NCCL_DEBUG and NCCL_DEBUG_SUBSYS.
LogFilter log_filter(const Environment& environment);

using LogSink = std::function<void(std::uint32_t rank, std::uint32_t subsystems, std::string_view text)>;

// Lines of each rank, rank after rank, each in NCCL's order.
void write_start(const Cluster& cluster, const Communicator& communicator, const LogFilter& filter,
                 const LogSink& sink);

// "AllReduce: 2097152 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}", of rank 0; nothing for what is made of
// sends and receives. `count_B`: of one rank's count.
std::optional<std::string> tuning_line(const Communicator& communicator, Collective collective, std::uint64_t size_B,
                                       std::uint32_t element_B, const Form& form = {});

// "node0:3521:3541 [0] NCCL INFO …"; the text alone below NCCL_DEBUG=INFO.
std::string log_line(const Cluster& cluster, const Communicator& communicator, std::uint32_t rank,
                     std::string_view text);
std::uint32_t process_id(std::uint32_t rank);

inline constexpr std::string_view kNcclVersion = "2.30.7+cuda13.0";

}  // namespace weft::nccl
