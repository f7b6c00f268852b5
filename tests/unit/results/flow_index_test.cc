#include "results/kinds/flow_index.h"

#include <gtest/gtest.h>

#include <random>

#include "results/explain_parts.h"

namespace weft::lab {
namespace {

// Flows between 12 ports over paths of up to 4, a quarter without a path and some with two of them.
std::vector<FlowAnswer> drawn_flows(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto port = [&] { return fmt::format("n{}:p0", random() % 12); };
  std::vector<FlowAnswer> flows(60);
  for (FlowAnswer& flow : flows) {
    flow.id = fmt::format("f/{}", &flow - flows.data());
    flow.from = port();
    flow.to = port();
    if (random() % 4 == 0) continue;
    flow.path = {flow.from};
    for (std::uint32_t i = random() % 4; i > 0; --i) flow.path.push_back(port());
    flow.ways.push_back({0, 1000, flow.path});
    if (random() % 3 == 0) flow.ways.push_back({1000, kNever_ps, {flow.from, port()}});
  }
  return flows;
}

TEST(FlowIndex, AgreesWithSearchOfAllFlows) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const std::vector<FlowAnswer> flows = drawn_flows(seed);
    const FlowIndex index(flows);
    for (int a = 0; a < 13; ++a) {  // the last is in no path
      const std::string port = fmt::format("n{}:p0", a), peer = fmt::format("n{}:p0", (a + 5) % 13);
      FlowIndex::Flows passing, through, over;
      for (const FlowAnswer& flow : flows) {
        if (passes(flow, port)) passing.push_back(&flow);
        if (goes_through(flow, port)) through.push_back(&flow);
        const bool ends = flow.from == port || flow.from == peer || flow.to == port || flow.to == peer;
        if ((flow.path.empty() && ends) || passes(flow, port) || passes(flow, peer)) over.push_back(&flow);
      }
      EXPECT_EQ(index.passing(port), passing) << port;
      EXPECT_EQ(index.through(port), through) << port;
      EXPECT_EQ(index.over(port, peer), over) << port << " " << peer;
    }
  }
}

}  // namespace
}  // namespace weft::lab
