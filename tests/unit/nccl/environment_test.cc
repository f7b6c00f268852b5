#include "nccl/decide/environment.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::nccl {
namespace {

ParsedEnvironment parsed(std::vector<Variable> variables) {
  return parse_environment(variables);
}

TEST(Environment, DefaultsAreNccls) {
  const Environment environment;
  EXPECT_EQ(environment.ib_timeout, 20);
  EXPECT_EQ(environment.ib_retry_cnt, 7);
  EXPECT_EQ(environment.cross_nic, 2);
  EXPECT_EQ(environment.buffsize_B, 4 << 20);
  EXPECT_EQ(environment.traffic_class(), 0);
  EXPECT_FALSE(environment.net_gdr_level.has_value());
}

TEST(Environment, NumbersAreReadAsStrtollDoes) {
  const ParsedEnvironment result = parsed({{"NCCL_IB_TC", "0x6a"}, {"NCCL_BUFFSIZE", "8388608"}, {"NCCL_IB_SL", " 3"}});
  EXPECT_EQ(result.environment.traffic_class(), 106);
  EXPECT_EQ(result.environment.buffsize_B, 8 << 20);
  EXPECT_EQ(result.environment.service_level(), 3);
  EXPECT_TRUE(result.problems.empty());
}

TEST(Environment, UnitsAreNotRead) {
  const ParsedEnvironment result = parsed({{"NCCL_MIN_NCHANNELS", "4k"}, {"NCCL_SHM_DISABLE", "yes"}});
  ASSERT_EQ(result.problems.size(), 2U);
  EXPECT_EQ(result.problems[0].message, "NCCL_MIN_NCHANNELS: NCCL reads 4k as 4");
  EXPECT_FALSE(result.problems[0].error);
  EXPECT_EQ(result.environment.min_nchannels, 4);
  EXPECT_EQ(result.problems[1].message, "NCCL_SHM_DISABLE: NCCL reads yes as 0");
  EXPECT_FALSE(result.environment.shm_disable);
}

TEST(Environment, ValuesThatCannotBeAreErrors) {
  const ParsedEnvironment result = parsed({{"NCCL_IB_TIMEOUT", "32"}, {"NCCL_IB_QPS_PER_CONNECTION", "0"}});
  ASSERT_EQ(result.problems.size(), 2U);
  EXPECT_TRUE(result.problems[0].error);
  EXPECT_EQ(result.problems[0].message, "NCCL_IB_TIMEOUT is 32");
  EXPECT_EQ(result.problems[0].remedy, "write 0 to 31");
  EXPECT_EQ(result.problems[1].variable, 1U);
}

TEST(Environment, UnknownAndUnmodelledVariablesAreNamed) {
  const ParsedEnvironment result =
      parsed({{"NCCL_IB_HCAS", "mlx5_0"}, {"NCCL_GDRCOPY_ENABLE", "1"}, {"PATH", "/bin"}, {"NCCL_IB_HCA", ""}});
  ASSERT_EQ(result.problems.size(), 2U);
  EXPECT_EQ(result.problems[0].message, "NCCL has no variable NCCL_IB_HCAS");
  EXPECT_NE(result.problems[0].remedy.find("NCCL_IB_HCA"), std::string::npos);
  EXPECT_EQ(result.problems[1].message, "NCCL_GDRCOPY_ENABLE is not modelled and changes nothing");
  EXPECT_FALSE(result.problems[1].error);
}

TEST(Environment, LevelsHaveNamesAndOldNumbers) {
  EXPECT_EQ(parsed({{"NCCL_NET_GDR_LEVEL", "PHB"}}).environment.net_gdr_level, PathType::kPhb);
  EXPECT_EQ(parsed({{"NCCL_NET_GDR_LEVEL", "3"}}).environment.net_gdr_level, PathType::kPhb);
  EXPECT_EQ(parsed({{"NCCL_P2P_LEVEL", "9"}}).environment.p2p_level, PathType::kSys);
  EXPECT_EQ(parsed({{"NCCL_P2P_LEVEL", "0"}}).environment.p2p_level, PathType::kLoc);
  const ParsedEnvironment wrong = parsed({{"NCCL_P2P_LEVEL", "NODE"}});
  EXPECT_FALSE(wrong.environment.p2p_level.has_value());
  EXPECT_EQ(wrong.problems.size(), 1U);
  EXPECT_EQ(parsed({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_P2P_LEVEL", "SYS"}}).environment.p2p_level, PathType::kLoc);
}

TEST(Environment, AlgorithmsByFunction) {
  const Environment all = parsed({{"NCCL_ALGO", "ring,collnetdirect;allreduce:tree;broadcast:^ring"}}).environment;
  const auto row = [&](Function function) { return all.algorithms[static_cast<std::size_t>(function)]; };
  EXPECT_EQ(row(Function::kAllReduce), (std::array<std::uint8_t, 7>{1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(row(Function::kAllGather), (std::array<std::uint8_t, 7>{0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(row(Function::kBroadcast), (std::array<std::uint8_t, 7>{1, 0, 1, 1, 1, 1, 1}));
  const Environment but = parsed({{"NCCL_PROTO", "^LL128"}}).environment;
  EXPECT_EQ(but.protocols[0], (std::array<std::uint8_t, 3>{1, 0, 1}));
}

TEST(Environment, WrongAlgorithmsAreErrors) {
  for (const char* text : {"rings", "ring;tree", "allred:ring", "allreduce:rings"}) {
    const ParsedEnvironment result = parsed({{"NCCL_ALGO", text}});
    ASSERT_EQ(result.problems.size(), 1U) << text;
    EXPECT_TRUE(result.problems[0].error) << text;
  }
  for (const char* text : {"", ";", ":", "^", "allreduce:", ";;,", "a:b:c:d"}) parsed({{"NCCL_ALGO", text}});
}

TEST(Environment, LevelsAndPluginsAreChecked) {
  EXPECT_TRUE(parsed({{"NCCL_DEBUG", "info"}, {"NCCL_NET", "socket"}}).problems.empty());
  const ParsedEnvironment wrong = parsed({{"NCCL_DEBUG", "DEBUG"}, {"NCCL_NET", "OFI"}});
  ASSERT_EQ(wrong.problems.size(), 2U);
  EXPECT_FALSE(wrong.problems[0].error);
  EXPECT_TRUE(wrong.problems[1].error);
}

TEST(Environment, ListsOfNames) {
  EXPECT_TRUE(name_matches("", "mlx5_0", 1));
  EXPECT_TRUE(name_matches("mlx5", "mlx5_10", 1));
  EXPECT_TRUE(name_matches("=mlx5_1", "mlx5_1", 1));
  EXPECT_FALSE(name_matches("=mlx5_1", "mlx5_10", 1));
  EXPECT_TRUE(name_matches("mlx5_1", "mlx5_10", 1));
  EXPECT_FALSE(name_matches("mlx5_0:2", "mlx5_0", 1));
  EXPECT_TRUE(name_matches("mlx5_1,mlx5_0:1", "mlx5_0", 1));
  EXPECT_FALSE(name_matches("^mlx5_0", "mlx5_0", 1));
  EXPECT_TRUE(name_matches("^=mlx5_1,mlx5_2", "mlx5_10", 1));
  EXPECT_FALSE(name_matches("^docker,lo", "lo", 0));
}

TEST(Environment, VariablesAreListedOnce) {
  std::set<std::string_view> names;
  for (const VariableInfo& info : known_variables()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(info.name.starts_with("NCCL_"));
    EXPECT_EQ(info.modelled == Modelled::kYes, !info.meaning.empty()) << info.name;
  }
  EXPECT_GT(names.size(), 200U);
}

TEST(Environment, GidIndexMustBeRoceV2) {
  EXPECT_TRUE(parsed({{"NCCL_IB_GID_INDEX", "3"}}).problems.empty());
  EXPECT_TRUE(parsed({{"NCCL_IB_GID_INDEX", "-1"}}).problems.empty());
  for (const char* v1 : {"0", "2"}) {
    const ParsedEnvironment result = parsed({{"NCCL_DEBUG", "INFO"}, {"NCCL_IB_GID_INDEX", v1}});
    ASSERT_EQ(result.problems.size(), 1U);
    EXPECT_TRUE(result.problems[0].error);
    EXPECT_EQ(result.problems[0].variable, 1U);
    EXPECT_NE(result.problems[0].message.find("RoCE v1"), std::string::npos);
  }
  for (const char* empty : {"4", "255"}) {
    const ParsedEnvironment result = parsed({{"NCCL_IB_GID_INDEX", empty}});
    ASSERT_EQ(result.problems.size(), 1U);
    EXPECT_TRUE(result.problems[0].error);
    EXPECT_NE(result.problems[0].message.find("empty entry"), std::string::npos);
  }
  const ParsedEnvironment local = parsed({{"NCCL_IB_GID_INDEX", "1"}});
  ASSERT_EQ(local.problems.size(), 1U);
  EXPECT_FALSE(local.problems[0].error);
  // Sockets have no GIDs.
  EXPECT_TRUE(parsed({{"NCCL_IB_DISABLE", "1"}, {"NCCL_IB_GID_INDEX", "7"}}).problems.empty());
}

TEST(Environment, VersionsFrom218To230) {
  EXPECT_EQ(parse_version("2.18.3"), 21803U);
  EXPECT_EQ(parse_version("2.30"), 23000U);
  EXPECT_EQ(parse_version("2.28.9"), 22809U);
  EXPECT_EQ(version_text(22105), "2.21.5");
  for (const char* text :
       {"", "2", "2.", "2.17.1", "2.31", "3.18.1", "2.18.", "2.18.3.1", "2.18.3+cuda12", "-2.18", "2.999"})
    EXPECT_FALSE(parse_version(text)) << text;
}

}  // namespace
}  // namespace weft::nccl
