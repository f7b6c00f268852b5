// workloads with `transfer`: one operation, repeated and verified, or one of the classic mistakes.
#include <fmt/format.h>

#include "labfile/lab_fields.h"
#include "labfile/workloads/workload_kind.h"

namespace weft::lab {
namespace {

using workload::Misuse;
using workload::TransferOp;
using workload::TransferOptions;

constexpr std::uint32_t kUnknownMtu_B = 4096;  // when the path is not known
constexpr std::uint64_t kMaxRegion_B = std::uint64_t{4} << 30;
constexpr std::uint64_t kAtomic_B = 8;

bool is_send(TransferOp op) {
  return op == TransferOp::kSend || op == TransferOp::kSendImm || op == TransferOp::kSendInv;
}
bool is_write(TransferOp op) {
  return op == TransferOp::kWrite || op == TransferOp::kWriteImm;
}
bool is_atomic(TransferOp op) {
  return op == TransferOp::kFetchAdd || op == TransferOp::kCompareSwap;
}
bool takes_receive(TransferOp op) {
  return is_send(op) || op == TransferOp::kWriteImm;
}

bool can_be_misused(const TransferOptions& options) {
  const TransferOp op = options.op;
  switch (options.misuse) {
    case Misuse::kNone:
      return true;
    case Misuse::kWrongRkey:
    case Misuse::kBeyondRegion:
      return is_write(op) || is_atomic(op) || op == TransferOp::kRead;
    case Misuse::kNoRemoteWrite:
      return is_write(op);
    case Misuse::kNoReceive:
      return takes_receive(op);
    case Misuse::kDeadPeer:
      return !options.ud;
  }
  return false;
}

class TransferReader {
 public:
  TransferReader(const MapReader& map, const YamlNode& op, ProblemList& problems)
      : map_(map), op_(op), problems_(problems) {}

  std::optional<TransferOptions> read(std::uint32_t path_mtu_B) {
    if (!map_.read(kTransferKeys, "transfer", options_)) return std::nullopt;
    if (is_atomic(options_.op)) options_.size_B = kAtomic_B;
    map_.read(kTransferKeys, options_);
    check_size(path_mtu_B);
    check_combination();
    return options_;
  }

 private:
  void check_size(std::uint32_t path_mtu_B) {
    const YamlNode* size = map_.get("size");
    const Place& place = size == nullptr ? op_.place : size->place;
    if (is_atomic(options_.op) && options_.size_B != kAtomic_B) {
      problems_.add(place, fmt::format("an atomic of {} B", options_.size_B), "atomics are always 8 B: leave out size");
    }
    if (options_.size_B * options_.depth > kMaxRegion_B) {
      problems_.add(place,
                    fmt::format("{} outstanding messages of {} B are more than 4 GiB", options_.depth, options_.size_B),
                    "lower size or depth");
    }
    if (options_.ud && options_.size_B > path_mtu_B) {
      problems_.add(place,
                    fmt::format("a UD message of {} B does not fit the RoCE MTU of {} B", options_.size_B, path_mtu_B),
                    "a UD message is one packet: write a smaller size");
    }
  }

  void check_combination() {
    if (options_.ud && options_.op != TransferOp::kSend && options_.op != TransferOp::kSendImm) {
      problems_.add(op_.place, fmt::format("UD does not carry {}", op_.text), "use connection: RC, or transfer: send");
    }
    for (std::string_view key : {"receives", "receive_delay"}) {
      const YamlNode* node = map_.get(key);
      if (node != nullptr && !takes_receive(options_.op)) {
        problems_.add(node->place, fmt::format("{} does not go with transfer {}", key, op_.text),
                      "only send and write-imm take a receive");
      }
    }
    if (!can_be_misused(options_)) {
      const YamlNode* misuse = map_.get("misuse");
      problems_.add(misuse->place, fmt::format("misuse {} does not go with this transfer", misuse->text),
                    "wrong-rkey and beyond-region: write, read, atomics; no-remote-write: write; no-receive: send; "
                    "dead-peer: RC");
    }
  }

  const MapReader& map_;
  const YamlNode& op_;
  ProblemList& problems_;
  TransferOptions options_;
};

}  // namespace

const Section& kind_keys(std::type_identity<TransferOptions>) {
  return kTransferKeys;
}
std::string_view misfit(std::type_identity<TransferOptions>, std::string_view key) {
  return key == "args" ? "only perftest has args" : "only flows have it";
}

void read_kind(std::type_identity<TransferOptions>, const YamlNode& node, WorkloadReading& reading) {
  const bool connected = reading.read_ends();
  const auto options =
      TransferReader(reading.map, node, reading.problems).read(connected ? reading.path_mtu_B() : kUnknownMtu_B);
  if (connected) {
    reading.read_class();
    reading.read_placement();
  }
  if (!options) return;
  reading.workload.options = *options;
  if (connected && options->op == TransferOp::kRead) reading.warn_of_read(node);
}

std::vector<TextError> metric_problems(const TransferOptions& options, const WorkloadConfig& workload,
                                       std::string_view metric) {
  return plain_metric_problems(workload, metric_names(options), metric);
}

}  // namespace weft::lab
