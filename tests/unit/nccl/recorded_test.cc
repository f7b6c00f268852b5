// The model's schedule against real NCCL's, message by message.
#include "unit/nccl/recorded.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "nccl/schedule/schedule.h"
#include "unit/nccl/machines.h"

namespace weft::nccl {
namespace {

const std::vector<Recorded>& recorded_cases() {
  static const std::vector<Recorded> cases =
      read_recorded(std::string(WEFT_SOURCE_DIR) + "/tests/interop/nccl-schedules.txt");
  return cases;
}

Collective collective_of(const std::string& name) {
  const std::map<std::string, Collective> names{{"all_reduce", Collective::kAllReduce},
                                                {"all_gather", Collective::kAllGather},
                                                {"reduce_scatter", Collective::kReduceScatter},
                                                {"alltoall", Collective::kAlltoAll},
                                                {"broadcast", Collective::kBroadcast},
                                                {"reduce", Collective::kReduce},
                                                {"gather", Collective::kGather},
                                                {"scatter", Collective::kScatter},
                                                {"sendrecv", Collective::kSendRecv}};
  return names.at(name);
}

std::string word_of(Algorithm algorithm) {
  return algorithm == Algorithm::kTree ? "TREE" : algorithm == Algorithm::kPat ? "PAT" : "RING";
}
std::string word_of(Protocol protocol) {
  return protocol == Protocol::kLl ? "LL" : protocol == Protocol::kLl128 ? "LL128" : "SIMPLE";
}

Operation operation_of(const Recorded& of, std::uint32_t rank) {
  Operation operation;
  operation.collective = collective_of(of.collective);
  operation.count = of.count;
  operation.root = of.root;
  if (operation.collective == Collective::kSendRecv) {
    operation.send_to = static_cast<std::int32_t>((rank + 1) % of.ranks);
    operation.receive_from = static_cast<std::int32_t>((rank + of.ranks - 1) % of.ranks);
  }
  return operation;
}

// Channels that sends and receives have are numbered in the order of their use, as in the recording.
std::map<Connection, Sizes> posted_by_model(const Communicator& communicator, const Recorded& wanted) {
  std::map<Connection, Sizes> messages;
  for (std::uint32_t rank = 0; rank < wanted.ranks; ++rank) {
    const Operation operation = operation_of(wanted, rank);
    const Plan plan = make_plan(communicator, operation);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> part_of;  // of (target, channel)
    std::map<std::uint32_t, std::uint32_t> parts;
    for (Lane lane : lanes_of(communicator, plan, rank)) {
      Primitive primitive;
      while (lane.next(primitive)) {
        for (std::uint32_t peer = 0; peer < lane.to.size(); ++peer) {
          if (lane.to[peer] == kNoRank || !primitive.gives_to(peer) || !primitive.posts) continue;
          const auto target = static_cast<std::uint32_t>(lane.to[peer]);
          std::uint32_t channel = lane.channel;
          if (lane.point_to_point) {
            const auto [part, fresh] = part_of.try_emplace({target, lane.channel}, parts[target]);
            if (fresh) ++parts[target];
            channel = part->second;
          }
          for (std::uint32_t slice = 0; slice < lane.slices; ++slice)
            add_message(messages[{rank, target, channel, 0}],
                        line_B(lane.protocol, message_count(lane, primitive, slice) * operation.element_B));
        }
      }
    }
  }
  return messages;
}

// Of a connection with several queue pairs: whole messages in turn, or a part of each on every one, in pieces of 128 B.
class QueuePairs {
 public:
  explicit QueuePairs(const Recorded& of)
      : count_(recorded::number(of.variable("NCCL_IB_QPS_PER_CONNECTION"))),
        split_(of.variable("NCCL_IB_SPLIT_DATA_ON_QPS") == "1") {}

  std::map<Connection, Sizes> spread(const std::map<Connection, Sizes>& messages) {
    if (count_ < 2) return messages;
    std::map<Connection, Sizes> spread;
    for (const auto& [connection, sizes] : messages) {
      for (const Run& run : sizes) {
        for (std::uint64_t i = 0; i < run.times; ++i) post(connection, run.size_B, spread);
      }
    }
    return spread;
  }

 private:
  void post(Connection connection, std::uint64_t size_B, std::map<Connection, Sizes>& spread) {
    if (!split_) {
      connection.queue_pair = 0;
      std::uint64_t& posted = posted_[connection];
      connection.queue_pair = static_cast<std::uint32_t>(posted++ % count_);
      add_message(spread[connection], size_B);
      return;
    }
    const std::uint64_t part_B = ((size_B + count_ - 1) / count_ + 127) / 128 * 128;
    for (std::uint32_t i = 0; i < count_; ++i) {
      connection.queue_pair = i;
      const std::uint64_t begin_B = std::min(i * part_B, size_B);
      add_message(spread[connection], std::min(part_B, size_B - begin_B));
    }
  }

  std::uint64_t count_;
  bool split_;
  std::map<Connection, std::uint64_t> posted_;
};

// Channels that may be one another in the recording: of each pair the same lists, in whatever order.
std::map<Connection, Sizes> without_order(const std::map<Connection, Sizes>& messages) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::string>> by_pair;
  std::map<Connection, Sizes> sorted;
  for (const auto& [connection, sizes] : messages)
    by_pair[{connection.source, connection.target}].push_back(to_text(sizes));
  for (auto& [pair, lists] : by_pair) {
    std::ranges::sort(lists);
    for (std::uint32_t i = 0; i < lists.size(); ++i)
      sorted[{pair.first, pair.second, i, 0}] = recorded::sizes(lists[i]);
  }
  return sorted;
}

std::string difference(const std::map<Connection, Sizes>& model, const std::map<Connection, Sizes>& real) {
  std::string text;
  int lines = 0;
  const auto say = [&](const Connection& c, const Sizes* ours, const Sizes* theirs) {
    if (++lines > 4) return;
    text += "\n    " + std::to_string(c.source) + ">" + std::to_string(c.target) + " channel " +
            std::to_string(c.channel) + "." + std::to_string(c.queue_pair) + ": NCCL " +
            (theirs ? to_text(*theirs) : "nothing") + ", model " + (ours ? to_text(*ours) : "nothing");
  };
  for (const auto& [connection, sizes] : real) {
    const auto found = model.find(connection);
    if (found == model.end())
      say(connection, nullptr, &sizes);
    else if (found->second != sizes)
      say(connection, &found->second, &sizes);
  }
  for (const auto& [connection, sizes] : model) {
    if (!real.contains(connection)) say(connection, &sizes, nullptr);
  }
  return text;
}

Communicator recorded_communicator(const Recorded& of, std::uint32_t version) {
  const Cluster cluster = recorded_cluster(of.ranks);
  // 2.28 has two channels for a peer over the network, whatever its NIC can do.
  std::vector<Variable> variables = of.variables;
  variables.push_back({"NCCL_NCHANNELS_PER_NET_PEER", "2"});
  Environment environment = environment_of(variables);
  environment.version = version;
  return {cluster, ranks_on(cluster, 1), environment};
}

constexpr std::uint32_t kRecordedVersion = 22809;

TEST(RecordedNccl, FileHasEveryCase) {
  std::map<std::uint32_t, std::size_t> by_ranks;
  std::set<std::string> ways, collectives;
  for (const Recorded& each : recorded_cases()) {
    ++by_ranks[each.ranks];
    collectives.insert(each.collective);
    ways.insert(each.algorithm + " " + each.protocol);
    EXPECT_FALSE(each.messages.empty()) << each.name();
  }
  EXPECT_EQ(by_ranks, (std::map<std::uint32_t, std::size_t>{{2, 584}, {3, 376}, {4, 584}, {8, 376}}));
  EXPECT_EQ(collectives.size(), 9U);
  EXPECT_EQ(ways, (std::set<std::string>{"PAT SIMPLE", "P2P ", "RING LL", "RING LL128", "RING SIMPLE", "TREE LL",
                                         "TREE LL128", "TREE SIMPLE"}));
}

TEST(RecordedNccl, ReaderTakesChannelsPairsAndRunsApart) {
  const std::string path = testing::TempDir() + "recorded" + std::to_string(getpid());
  std::ofstream(path) << "# comment\n\nranks 3 NCCL_ALGO=Ring NCCL_PROTO=LL\nall_reduce count 7 root 0: RING LL 0-3\n"
                         "  0>1,1>2 0-1,3: 2x64 0\n  0>1 ?2: 5\nsendrecv count 7 root 1: P2P\n  2>0 0.1: 28\n";
  const std::vector<Recorded> cases = read_recorded(path);
  std::remove(path.c_str());
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].name(), "3 ranks NCCL_ALGO=Ring NCCL_PROTO=LL all_reduce count 7 root 0");
  EXPECT_EQ(cases[0].channels, 4U);
  EXPECT_TRUE(cases[0].unsure);
  EXPECT_EQ(cases[0].messages.size(), 7U);
  EXPECT_EQ(cases[0].messages.at({1, 2, 3, 0}), (Sizes{{2, 64}, {1, 0}}));
  EXPECT_EQ(cases[0].messages.at({0, 1, 2, 0}), (Sizes{{1, 5}}));
  EXPECT_EQ(cases[1].channels, 0U);
  EXPECT_EQ(cases[1].messages.at({2, 0, 0, 1}), (Sizes{{1, 28}}));
}

TEST(RecordedNccl, ModelChoosesAlgorithmProtocolAndChannels) {
  for (const Recorded& each : recorded_cases()) {
    if (each.channels == 0) continue;
    const Communicator communicator = recorded_communicator(each, kRecordedVersion);
    ASSERT_EQ(communicator.error(), "") << each.name();
    const Operation operation = operation_of(each, 0);
    const std::uint64_t size_B = size_of(operation, each.ranks);
    const Choice choice = communicator.choose(operation.collective, size_B);
    EXPECT_EQ(word_of(choice.algorithm) + " " + word_of(choice.protocol), each.algorithm + " " + each.protocol)
        << each.name();
    EXPECT_EQ(communicator.parts(operation.collective, size_B, operation.element_B).channels, each.channels)
        << each.name();
  }
}

TEST(RecordedNccl, MessagesAreThoseOfModel) {
  std::size_t compared = 0;
  std::map<std::string, QueuePairs> queue_pairs;
  for (const Recorded& each : recorded_cases()) {
    const Communicator communicator = recorded_communicator(each, kRecordedVersion);
    // Queue pairs go on where the operation before has left them.
    std::string key = std::to_string(each.ranks);
    for (const Variable& variable : each.variables) key += " " + variable.name + "=" + variable.value;
    auto& spread = queue_pairs.try_emplace(key, each).first->second;
    const auto model = spread.spread(posted_by_model(communicator, each));
    EXPECT_EQ(
        each.unsure ? difference(without_order(model), without_order(each.messages)) : difference(model, each.messages),
        "")
        << each.name();
    ++compared;
  }
  EXPECT_EQ(compared, 1920U);
}

// From 2.29 on a channel gets more at least: fewer channels for what is small.
TEST(RecordedNccl, NewerVersionTakesFewerChannels) {
  std::size_t differ = 0, more = 0;
  for (const Recorded& each : recorded_cases()) {
    if (each.channels == 0 || each.algorithm == "PAT") continue;
    const Operation operation = operation_of(each, 0);
    const std::uint64_t size_B = size_of(operation, each.ranks);
    const std::uint32_t channels =
        recorded_communicator(each, 23000).parts(operation.collective, size_B, operation.element_B).channels;
    differ += channels != each.channels ? 1 : 0;
    more += channels > each.channels ? 1 : 0;
  }
  EXPECT_GT(differ, 0U);
  EXPECT_EQ(more, 0U);
}

}  // namespace
}  // namespace weft::nccl
