// The model's schedule against real NCCL's, message by message.
#include "unit/nccl/recorded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "nccl/schedule.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

const std::vector<Recorded>& recorded_cases() {
  static const std::vector<Recorded> cases =
      read_recorded(std::string(WEFT_SOURCE_DIR) + "/tests/interop/nccl-schedules.txt");
  return cases;
}

// The machines of the recording as NCCL saw them: an H200 and a NIC at root ports of one Intel CPU, no GPUDirect.
Cluster recorded_cluster(std::uint32_t ranks) {
  Machine machine = plain_machine(1, {{"gpu0", -1, 0, 5, 16}, {"nic0", -1, 0, 3, 16}});
  machine.cpu_kind = "intel-emerald-rapids";
  machine.places.gpudirect = false;
  machine.places.gpus.push_back({gpu_model("h200"), machine.layout.slot("gpu0")});
  Nic nic;
  nic.name = "mlx5_0";
  nic.interface = "p0";
  nic.rate_bps = 100'000'000'000;
  nic.slot = machine.layout.slot("nic0");
  machine.nics.push_back(nic);
  return cluster_of(ranks, machine);
}

Collective collective_of(const std::string& name) {
  const std::map<std::string, Collective> names{
      {"all_reduce", Collective::kAllReduce}, {"all_gather", Collective::kAllGather},
      {"reduce_scatter", Collective::kReduceScatter}, {"alltoall", Collective::kAlltoAll},
      {"broadcast", Collective::kBroadcast}, {"reduce", Collective::kReduce},
      {"gather", Collective::kGather}, {"scatter", Collective::kScatter}, {"sendrecv", Collective::kSendRecv}};
  return names.at(name);
}

std::string word_of(Algorithm algorithm) {
  return algorithm == Algorithm::kTree ? "TREE" : algorithm == Algorithm::kPat ? "PAT" : "RING";
}
std::string word_of(Protocol protocol) {
  return protocol == Protocol::kLl ? "LL" : protocol == Protocol::kLl128 ? "LL128" : "SIMPLE";
}

// Channels that sends and receives have are numbered in the order of their use, as in the recording.
std::map<Connection, Sizes> posted_by_model(const Communicator& communicator, const Recorded& wanted) {
  std::map<Connection, Sizes> messages;
  for (std::uint32_t rank = 0; rank < wanted.ranks; ++rank) {
    Operation operation;
    operation.collective = collective_of(wanted.collective);
    operation.count = wanted.count;
    operation.root = wanted.root;
    if (operation.collective == Collective::kSendRecv) {
      operation.send_to = static_cast<std::int32_t>((rank + 1) % wanted.ranks);
      operation.receive_from = static_cast<std::int32_t>((rank + wanted.ranks - 1) % wanted.ranks);
    }
    const Plan plan = make_plan(communicator, operation);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> part_of;  // of (target, channel)
    std::map<std::uint32_t, std::uint32_t> parts;
    for (Lane lane : lanes_of(communicator, plan, rank)) {
      Primitive primitive;
      while (lane.next(primitive)) {
        if (!primitive.sends) continue;
        for (std::int32_t to : lane.to) {
          if (to == kNoRank) continue;
          const auto target = static_cast<std::uint32_t>(to);
          std::uint32_t channel = lane.channel;
          if (lane.point_to_point) {
            const auto [part, fresh] = part_of.try_emplace({target, lane.channel}, parts[target]);
            if (fresh) ++parts[target];
            channel = part->second;
          }
          for (std::uint32_t slice = 0; slice < lane.slices; ++slice)
            add_message(messages[{rank, target, channel, 0}],
                        line_B(lane.protocol, lane.slice_count(primitive, slice) * operation.element_B));
        }
      }
    }
  }
  return messages;
}

std::string difference(const std::map<Connection, Sizes>& model, const std::map<Connection, Sizes>& real) {
  std::string text;
  int lines = 0;
  const auto say = [&](const Connection& c, const Sizes* ours, const Sizes* theirs) {
    if (++lines > 4) return;
    text += "\n    " + std::to_string(c.source) + ">" + std::to_string(c.target) + " channel " + std::to_string(c.channel) +
            ": NCCL " + (theirs ? to_text(*theirs) : "nothing") + ", model " + (ours ? to_text(*ours) : "nothing");
  };
  for (const auto& [connection, sizes] : real) {
    const auto found = model.find(connection);
    if (found == model.end()) say(connection, nullptr, &sizes);
    else if (found->second != sizes) say(connection, &found->second, &sizes);
  }
  for (const auto& [connection, sizes] : model) {
    if (!real.contains(connection)) say(connection, &sizes, nullptr);
  }
  return text;
}

TEST(RecordedNccl, FileHasEveryCase) {
  std::map<std::uint32_t, std::size_t> by_ranks;
  std::size_t messages = 0;
  for (const Recorded& each : recorded_cases()) {
    ++by_ranks[each.ranks];
    EXPECT_FALSE(each.messages.empty()) << each.name();
    EXPECT_NO_THROW(collective_of(each.collective)) << each.name();
    for (const auto& [connection, sizes] : each.messages) messages += sizes.size();
  }
  EXPECT_EQ(by_ranks.size(), 4U);
  printf("%zu cases, %zu runs\n", recorded_cases().size(), messages);
}

TEST(RecordedNccl, SameMessages) {
  std::map<std::string, std::pair<int, int>> kinds;  // equal, of
  const char* show = std::getenv("SHOW");
  for (const Recorded& each : recorded_cases()) {
    if (!each.variable("NCCL_IB_QPS_PER_CONNECTION").empty()) continue;
    const Cluster cluster = recorded_cluster(each.ranks);
    // What differs in 2.28: two channels for a peer over the network, whatever its NIC can do.
    std::vector<Variable> variables = each.variables;
    variables.push_back({"NCCL_NCHANNELS_PER_NET_PEER", "2"});
    Environment environment = environment_of(variables);
    environment.version = 22809;
    const Communicator communicator(cluster, ranks_on(cluster, 1), environment);
    ASSERT_EQ(communicator.error(), "");
    const std::string forced = each.variable("NCCL_ALGO").empty() ? "chosen " : "forced ";
    const std::string kind = forced + each.collective + " " + each.algorithm + " " + each.protocol + (each.variable("NCCL_MAX_NCHANNELS") == "1" ? " one channel" : "");
    auto& [equal, all] = kinds[kind];
    ++all;
    const auto model = posted_by_model(communicator, each);
    std::string text = difference(model, each.messages);
    if (each.channels > 0) {
      Operation operation;
      operation.collective = collective_of(each.collective);
      operation.count = each.count;
      const Choice choice = communicator.choose(operation.collective, size_of(operation, each.ranks));
      if (word_of(choice.algorithm) != each.algorithm || word_of(choice.protocol) != each.protocol)
        text += "\n    NCCL chose " + each.algorithm + " " + each.protocol + ", model " + word_of(choice.algorithm) + " " + word_of(choice.protocol);
      const Parts parts = communicator.parts(operation.collective, size_of(operation, each.ranks), 4);
      if (parts.channels != each.channels)
        text += "\n    NCCL took " + std::to_string(each.channels) + " channels, model " + std::to_string(parts.channels);
    }
    if (text.empty()) ++equal;
    else if (show && kind.find(show) != std::string::npos) printf("%s -> %s %s %u%s\n", each.name().c_str(), each.algorithm.c_str(), each.protocol.c_str(), each.channels, text.c_str());
  }
  for (const auto& [kind, counts] : kinds) printf("%4d of %4d  %s\n", counts.first, counts.second, kind.c_str());
}

}  // namespace
}  // namespace weft::nccl
