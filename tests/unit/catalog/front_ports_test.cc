#include "catalog/front_ports.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

constexpr std::int64_t kGbps = 1'000'000'000;

TEST(FrontPorts, CountRatesAndLanes) {
  const auto ports = parse_front_ports("32x 100G/50G/25G on 4 lanes");
  ASSERT_TRUE(ports.has_value());
  EXPECT_EQ(ports->count, 32U);
  EXPECT_EQ(ports->rates_bps, (std::vector<std::int64_t>{100 * kGbps, 50 * kGbps, 25 * kGbps}));
  EXPECT_EQ(ports->lanes, 4U);
  const auto one = parse_front_ports("1x 25G on 1 lane");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->rates_bps, std::vector<std::int64_t>{25 * kGbps});
}

TEST(FrontPorts, RejectsInvalidPorts) {
  for (const char* text : {"", "32", "32x", "x 100G on 4 lanes", "0x 100G on 4 lanes", "32x 100G", "32x 100 on 4 lanes",
                           "32x 56G on 4 lanes", "32x 25G/100G on 4 lanes", "32x 100G/100G on 4 lanes",
                           "32x 100G/ on 4 lanes", "32x 100G on 0 lanes", "32x 100G on 9 lanes",
                           "32x 100G on 4 lanes more", "-1x 100G on 4 lanes", "99999999999x 100G on 4 lanes"}) {
    const auto ports = parse_front_ports(text);
    ASSERT_FALSE(ports.has_value()) << text;
    EXPECT_FALSE(ports.error().remedy.empty());
  }
}

TEST(FrontPorts, NumbersStartAtOneAndContinueInNextGroup) {
  fabric::SwitchModel model;
  model.ports = {*parse_front_ports("48x 25G on 1 lane"), *parse_front_ports("8x 100G on 4 lanes")};
  EXPECT_EQ(front_port_count(model), 56U);
  EXPECT_EQ(front_port(model, 0), nullptr);
  EXPECT_EQ(front_port(model, 1), &model.ports[0]);
  EXPECT_EQ(front_port(model, 48), &model.ports[0]);
  EXPECT_EQ(front_port(model, 49), &model.ports[1]);
  EXPECT_EQ(front_port(model, 56), &model.ports[1]);
  EXPECT_EQ(front_port(model, 57), nullptr);
}

}  // namespace
}  // namespace weft::lab
