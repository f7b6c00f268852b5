// The lines of NCCL_DEBUG=INFO against those that real NCCL printed in the recording
// (tests/interop/nccl-log-2ranks.txt).
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "nccl/text/log.h"
#include "unit/nccl/recorded.h"

namespace weft::nccl {
namespace {

// Pointers, random numbers and places on the bus are not compared.
std::string without_numbers(const std::string& line) {
  std::string text = std::regex_replace(line, std::regex("0x[0-9a-f]+"), "0x");
  text = std::regex_replace(text, std::regex("(GPU/0-|CPU/0-|busId )[0-9a-f]+"), "$1");
  return std::regex_replace(text, std::regex("(NET/0-0 \\(0/)[0-9a-f]+"), "$1");
}

std::multiset<std::string> recorded_lines() {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/tests/interop/nccl-log-2ranks.txt");
  std::multiset<std::string> lines;
  const std::regex prefix("^h0:[0-9]+:[0-9]+ \\[0\\] NCCL INFO ");
  for (std::string line; std::getline(file, line);) lines.insert(without_numbers(std::regex_replace(line, prefix, "")));
  return lines;
}

TEST(RecordedNccl, LogLinesAreThoseOfNccl) {
  const Cluster cluster = recorded_cluster(2);
  Environment environment = environment_of({{"NCCL_DEBUG", "INFO"},
                                            {"NCCL_DEBUG_SUBSYS", "INIT,ENV,NET,GRAPH,TUNING"},
                                            {"NCCL_NCHANNELS_PER_NET_PEER", "2"}});
  environment.version = 22809;
  const Communicator communicator(cluster, ranks_on(cluster, 1), environment);
  std::multiset<std::string> real = recorded_lines();
  std::vector<std::string> others;
  std::size_t same = 0;
  write_start(cluster, communicator, log_filter(environment),
              [&](std::uint32_t rank, std::uint32_t, std::string_view text) {
                if (rank != 0) return;
                const auto found = real.find(without_numbers(std::string(text)));
                if (found == real.end()) {
                  others.push_back(without_numbers(std::string(text)));
                } else {
                  real.erase(found);
                  ++same;
                }
              });
  // What another version prints in other words, and trees, which NCCL connects when a collective first needs them.
  EXPECT_EQ(others,
            (std::vector<std::string>{"NCCL version 2.28.9",
                                      "[Rank 0] ncclCommInitRank comm 0x rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId  "
                                      "commId 0x - Init START",
                                      "NCCL_NCHANNELS_PER_NET_PEER set by environment to 2.", "Rank 0: 1 Net devices",
                                      "Connected all trees"}));
  EXPECT_GT(same, 80U);
  EXPECT_EQ(tuning_line(communicator, Collective::kAllGather, 1 << 20, 4),
            "AllGather: 524288 Bytes -> Algo PAT proto SIMPLE channel{Lo..Hi}={0..7}");
}

}  // namespace
}  // namespace weft::nccl
