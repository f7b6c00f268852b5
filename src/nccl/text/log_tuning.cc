// Lines of NCCL_DEBUG_SUBSYS=TUNING: the choice for a collective.
#include <fmt/format.h>

#include "nccl/text/log.h"

namespace weft::nccl {

std::optional<std::string> tuning_line(const Communicator& communicator, Collective collective, std::uint64_t size_B,
                                       std::uint32_t element_B, const Form& form) {
  std::string_view function;
  switch (collective) {
    case Collective::kAllReduce:
      function = "AllReduce";
      break;
    case Collective::kAllGather:
      function = "AllGather";
      break;
    case Collective::kReduceScatter:
      function = "ReduceScatter";
      break;
    case Collective::kBroadcast:
      function = "Broadcast";
      break;
    case Collective::kReduce:
      function = "Reduce";
      break;
    default:
      return std::nullopt;
  }
  constexpr std::string_view kProtocolWords[] = {"LL", "LL128", "SIMPLE"};
  const Choice choice = communicator.choose(collective, size_B, form);
  const bool gathers = collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  return fmt::format("{}: {} Bytes -> Algo {} proto {} channel{{Lo..Hi}}={{0..{}}}", function,
                     gathers ? size_B / communicator.ranks().size() : size_B, to_string(choice.algorithm),
                     kProtocolWords[static_cast<std::size_t>(choice.protocol)],
                     communicator.parts(collective, size_B, element_B, form).channels - 1);
}

std::uint32_t process_id(std::uint32_t rank) {
  return 3521 + rank;
}

std::string log_line(const Cluster& cluster, const Communicator& communicator, std::uint32_t rank,
                     std::string_view text) {
  // Where only the version is shown it stands alone.
  if (log_filter(communicator.environment()).level != DebugLevel::kInfo) return std::string(text);
  const RankPlace& place = communicator.ranks()[rank];
  return fmt::format("{}:{}:{} [{}] NCCL INFO {}", cluster.machines[place.machine].name, process_id(rank),
                     process_id(rank) + 20, place.gpu, text);
}

}  // namespace weft::nccl
