#include "tools/perftest/message_budget.h"

#include <gtest/gtest.h>

namespace weft::workload {
namespace {

using nic::Span;
using nic::Stage;

const std::vector<std::string> kPorts{"a:p0", "b:p0", "leaf:swp1", "leaf:swp2"};

// There and back over a switch; a queue on the way back.
std::vector<Span> round_trip() {
  return {{Stage::kPost, 0, 0, 0, ns(100)},        {Stage::kSerialisation, 0, 0, 2, ns(7)},
          {Stage::kSwitch, 0, 0, 2, ns(300)},      {Stage::kSerialisation, 0, 3, 1, ns(7)},
          {Stage::kReceive, 0, 3, 1, ns(200)},     {Stage::kPost, 1, 0, 0, ns(100)},
          {Stage::kSerialisation, 1, 1, 3, ns(7)}, {Stage::kSwitch, 1, 1, 3, ns(300)},
          {Stage::kQueue, 1, 2, 0, ns(50)},        {Stage::kSerialisation, 1, 2, 0, ns(7)},
          {Stage::kReceive, 1, 2, 0, ns(200)}};
}

const MessageLine* line_of(const MessageBudget& budget, const std::string& name, const std::string& where = "") {
  for (const MessageLine& line : budget.lines) {
    if (line.name == name && line.where == where) return &line;
  }
  return nullptr;
}

TEST(MessageBudget, LinesAddUpByStageAndPlace) {
  const MessageBudget budget = message_budget(round_trip(), 2, ns(639), kPorts);
  EXPECT_EQ(budget.total_ps, ns(1278));
  Time_ps sum_ps = 0;
  for (const MessageLine& line : budget.lines) sum_ps += line.there_ps + line.back_ps;
  EXPECT_EQ(sum_ps, budget.total_ps);
  const MessageLine* near = line_of(budget, "serialisation", "a:p0 - leaf:swp1");
  ASSERT_NE(near, nullptr);
  EXPECT_EQ(near->there_ps, ns(7));
  EXPECT_EQ(near->back_ps, ns(7)) << "both directions of a cable are one place";
  const MessageLine* queue = line_of(budget, "queue", "leaf");
  ASSERT_NE(queue, nullptr);
  EXPECT_TRUE(queue->avoidable);
  ASSERT_NE(line_of(budget, "NIC receive"), nullptr);
}

TEST(MessageBudget, HealthyIsWhatCannotBeAvoided) {
  std::vector<Span> spans = round_trip();
  EXPECT_TRUE(message_budget(spans, 2, ns(639), kPorts).healthy) << "50 of 1278 ns";
  EXPECT_EQ(message_verdict(message_budget(spans, 2, ns(639), kPorts)),
            "healthy: 0.64 us, 0.61 without distance, queues and contention");
  spans.push_back({Stage::kNumaHops, 1, 0, 0, ns(200)});
  const MessageBudget far = message_budget(spans, 2, ns(739), kPorts);
  EXPECT_FALSE(far.healthy);
  EXPECT_EQ(message_verdict(far), "0.74 us, 0.61 without distance, queues and contention: NUMA hops 0.10, queue 0.03");
}

TEST(MessageBudget, TextSaysWhatHasNoExplanation) {
  std::vector<Span> spans = round_trip();
  spans.push_back({Stage::kUnexplained, 1, 0, 0, ns(3)});
  const MessageBudget budget = message_budget(spans, 2, ns(640), kPorts);
  EXPECT_EQ(budget.unexplained_ps, ns(3));
  const std::string text = message_text(budget, 2);
  EXPECT_NE(text.find("3.0 ns have no explanation"), std::string::npos) << text;
  EXPECT_NE(text.find("where 1281.0 ns of a round trip of 2 B went; half of it is t_typical"), std::string::npos);
  EXPECT_EQ(message_text({}, 2), "");
}

}  // namespace
}  // namespace weft::workload
