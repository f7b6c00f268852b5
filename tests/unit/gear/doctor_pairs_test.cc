#include <gtest/gtest.h>

#include "gear/doctor/pairs.h"

namespace weft::gear {
namespace {

std::string bandwidth(double value, int size_B = 65536) {
  return "{\"test_info\": {\"test\": \"Write_BW\"}, \"results\": {\"MsgSize\": " + std::to_string(size_B) +
         ", \"n_iterations\": 5000, \"BW_peak\": 196.1, \"BW_average\": " + std::to_string(value) +
         ", \"MsgRate\": 0.37}}";
}

PairMatrix all_pairs(const std::vector<std::string>& hosts, const std::string& slow_client,
                     const std::string& slow_server) {
  PairMatrix matrix;
  for (const std::string& client : hosts) {
    for (const std::string& server : hosts) {
      if (client == server) continue;
      const bool slow = (slow_client.empty() || client == slow_client) && server == slow_server;
      const bool also = slow_client == slow_server && (client == slow_client || server == slow_server);
      add_pair(bandwidth(slow || also ? 97.2 : 196.0), client + "--" + server + ".json", matrix);
    }
  }
  return matrix;
}

TEST(DoctorPairs, NamesOddPair) {
  PairMatrix matrix = all_pairs({"a", "b", "c", "d"}, "b", "c");
  compare_pairs(matrix, 0);
  EXPECT_TRUE(matrix.problems.empty());
  EXPECT_FALSE(matrix.healthy());
  std::size_t odd = 0;
  for (const PairResult& pair : matrix.pairs) {
    if (!pair.odd) continue;
    ++odd;
    EXPECT_EQ(pair.client + pair.server, "bc");
    EXPECT_NEAR(pair.deviation_pct, -50.4, 0.1);
  }
  EXPECT_EQ(odd, 1u);
  EXPECT_TRUE(matrix.odd_hosts.empty());
  EXPECT_NE(pairs_text(matrix).find("odd: b -> c: 97.20, -50.4 %"), std::string::npos) << pairs_text(matrix);
  EXPECT_NE(pairs_json(matrix).find("\"odd\": true"), std::string::npos);
}

TEST(DoctorPairs, NamesOddHost) {
  PairMatrix matrix = all_pairs({"a", "b", "c", "d", "e"}, "b", "b");
  compare_pairs(matrix, 0);
  EXPECT_EQ(matrix.odd_hosts, (std::vector<std::string>{"b"}));
  PairMatrix healthy = all_pairs({"a", "b", "c"}, "none", "none");
  compare_pairs(healthy, 0);
  EXPECT_TRUE(healthy.healthy());
  EXPECT_TRUE(healthy.missing.empty());
}

TEST(DoctorPairs, ComparesWithLineRate) {
  // All pairs equally bad: only the line's rate shows it. 200 Gb/s allow 196.07 of payload in packets of 4 KiB.
  PairMatrix matrix;
  add_pair(bandwidth(180), "a-b.json", matrix);
  add_pair(bandwidth(181), "b_a.json", matrix);
  compare_pairs(matrix, 200);
  EXPECT_NEAR(matrix.expected, 196.07, 0.01);
  EXPECT_TRUE(matrix.pairs[0].odd && matrix.pairs[1].odd);
  PairMatrix in_MiBps;  // without --report_gbits
  add_pair(bandwidth(23'300), "a-b.json", in_MiBps);
  compare_pairs(in_MiBps, 200);
  EXPECT_TRUE(in_MiBps.healthy()) << in_MiBps.expected;
}

TEST(DoctorPairs, ReadsLatencyAndAllSizes) {
  PairMatrix matrix;
  const auto latency = [](double us) {
    return "{\"results\": [{\"MsgSize\": 2, \"t_typical\": 1.0}, {\"MsgSize\": 64, \"t_typical\": " +
           std::to_string(us) + "}]}";
  };
  add_pair(latency(1.41), "a-b.json", matrix);
  add_pair(latency(1.40), "a-c.json", matrix);
  add_pair(latency(7.99), "b-c.json", matrix);
  compare_pairs(matrix, 0);
  EXPECT_TRUE(matrix.latency);
  EXPECT_EQ(matrix.size_B, 64u);
  ASSERT_EQ(matrix.pairs.size(), 3u);
  EXPECT_TRUE(matrix.pairs[2].odd);
}

// Across the spines it takes longer than under one leaf, which is no fault; a host that is slow to all is one.
TEST(DoctorPairs, LatencyClassesAreNotOdd) {
  const auto matrix_of = [](double slow_us, const std::string& slow_host) {
    PairMatrix matrix;
    const std::string hosts[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < 8; ++j) {
        if (i == j) continue;
        double us = i / 4 == j / 4 ? 1.9 : 2.7;
        if (hosts[i] == slow_host || hosts[j] == slow_host) us = slow_us;
        add_pair("{\"results\": {\"MsgSize\": 2, \"t_typical\": " + std::to_string(us) + "}}",
                 hosts[i] + "-" + hosts[j] + ".json", matrix);
      }
    }
    compare_pairs(matrix, 0);
    return matrix;
  };
  EXPECT_TRUE(matrix_of(0, "").healthy());
  const PairMatrix slow = matrix_of(5.2, "d");
  EXPECT_FALSE(slow.healthy());
  EXPECT_EQ(slow.odd_hosts, std::vector<std::string>{"d"});
}

TEST(DoctorPairs, BrokenResultsAreErrors) {
  PairMatrix matrix;
  add_pair("{", "a-b.json", matrix);
  add_pair("[]", "a-b.json", matrix);
  add_pair("{\"results\": []}", "a-b.json", matrix);
  add_pair("{\"results\": {\"BW_average\": \"nan\"}}", "a-b.json", matrix);
  add_pair("{\"results\": {\"BW_average\": -1}}", "a-b.json", matrix);
  add_pair(bandwidth(1), "alone.json", matrix);
  add_pair(bandwidth(1), "a-b-c.json", matrix);
  EXPECT_EQ(matrix.problems.size(), 7u);
  add_pair(bandwidth(196), "a-b.json", matrix);
  add_pair(bandwidth(196), "a-b.json", matrix);
  add_pair(bandwidth(196, 2), "b-a.json", matrix);
  EXPECT_EQ(matrix.problems.size(), 9u);
  compare_pairs(matrix, 0);
  EXPECT_EQ(read_pairs("/nowhere", 0).problems.size(), 1u);
}

}  // namespace
}  // namespace weft::gear
