// UCX, Open MPI and libfabric of Debian, unmodified, through a simulated switch.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "interop/live_world.h"
#include "support/matching.h"
#include "support/slowdown.h"

namespace weft::interop {
namespace {

constexpr const char* kLab = "live/one-switch-100g.yaml";

// 4,096 B of payload in 4,178 B of line (BTH 12, ICRC 4, IPv4 and UDP 28, Ethernet 14, FCS 4, preamble and gap 20).
constexpr double kLimit_Gbps = 100.0 * 4096 / 4178;

class Ucx : public testing::Test {
 protected:
  Ucx() {
    setenv("UCX_TLS", "rc_verbs,ud_verbs,self", 1);
    setenv("UCX_NET_DEVICES", "mlx5_0:1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }
  ~Ucx() override {
    unsetenv("UCX_TLS");
    unsetenv("UCX_NET_DEVICES");
  }
};

// The last line of ucx_perftest: iterations, median, average and overall latency (us), two bandwidths (MiB/s), two
// rates.
std::vector<double> final_row(const std::string& text) {
  std::size_t at = text.rfind("Final:");
  std::vector<double> columns;
  if (at == text.npos) return columns;
  std::istringstream line(text.substr(at + 6));
  for (double value; line >> value;) columns.push_back(value);
  return columns;
}

TEST_F(Ucx, MeasuresLatencyOfEveryMessageKind) {
  Live world(kLab);
  // What the NIC itself needs for the same way, in perftest's words; UCX adds its own posting and polling.
  auto bare = row_of(world.pair("h0", "h1", "ib_send_lat -F -x 3 -n 200"));
  ASSERT_GE(bare.size(), 5U);
  for (const char* test : {"tag_lat", "ucp_put_lat", "ucp_am_lat", "stream_lat"}) {
    auto row = final_row(world.pair("h0", "h1", std::string("ucx_perftest -s 8 -n 300 -w 30 -t ") + test));
    ASSERT_GE(row.size(), 4U) << test;
    EXPECT_GT(row[1], 0.9 * bare[4]) << test << ": not faster than the NIC";
    EXPECT_LT(row[1], 2 * bare[4]) << test;
    EXPECT_LT(row[3], 3 * bare[4]) << test << ": no wait shows up in the average";
  }
  for (const char* test : {"ucp_get", "ucp_fadd", "ucp_cswap"}) {
    auto row = final_row(world.pair("h0", "h1", std::string("ucx_perftest -s 8 -n 200 -w 20 -t ") + test));
    ASSERT_GE(row.size(), 4U) << test;
    // There and back.
    EXPECT_GT(row[1], 1.5 * bare[4]) << test;
    EXPECT_LT(row[1], 4 * bare[4]) << test;
  }
}

TEST_F(Ucx, ReachesLinkBandwidth) {
  Live world(kLab);
  for (const char* test : {"tag_bw", "ucp_put_bw", "ucp_am_bw"}) {
    auto row = final_row(world.pair("h0", "h1", std::string("ucx_perftest -s 65536 -n 500 -w 50 -t ") + test));
    ASSERT_GE(row.size(), 6U) << test;
    double got_Gbps = row[5] * 8 * (1 << 20) / 1e9;
    EXPECT_LT(got_Gbps, kLimit_Gbps) << test;
    EXPECT_GT(got_Gbps, 0.97 * kLimit_Gbps) << test;
  }
  auto ud =
      final_row(world.pair("h0", "h1", "ucx_perftest -t am_bw -d mlx5_0:1 -x ud_verbs -D bcopy -s 1024 -n 500 -w 50"));
  ASSERT_GE(ud.size(), 6U);
  EXPECT_GT(ud[5], 0);
}

constexpr const char* kOverUcx = "--mca pml ucx --mca osc ucx";

// Every rank's command is `weft exec NODE`, under one mpirun outside of the world.
int mpirun(const std::vector<std::string>& nodes, std::string& said, const std::string& program = "collectives",
           const std::string& options = kOverUcx) {
  char name[] = "/tmp/weft-mpi-XXXXXX";
  std::string directory = mkdtemp(name);
  std::string binary = directory + "/" + program;
  EXPECT_EQ(
      std::system(("mpicc -O1 -o " + binary + " " WEFT_SOURCE_DIR "/tests/interop/mpi_" + program + ".c").c_str()), 0);
  std::string command = test::timeout(100) + "mpirun --oversubscribe --mca plm isolated --mca btl ^openib " + options;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    command += std::string(i == 0 ? "" : " :") + " -np 1 " WEFT_BINARY " exec " + nodes[i] + " -- " + binary;
  int status = std::system((command + " >" + directory + "/out 2>&1 </dev/null").c_str());
  said = text_of(directory + "/out");
  fs::remove_all(directory);
  return status;
}

TEST_F(Ucx, RunsOpenMpiOnTwoRanks) {
  Live world(kLab);
  std::string said;
  EXPECT_EQ(mpirun({"h0", "h1"}, said), 0) << said;
  EXPECT_NE(said.find("2 ranks, 0 elements wrong"), said.npos) << said;
  // 2 MiB each way at once, and nothing is faster than the cable.
  const std::vector<std::string> match = test::match(said, "allreduce 2097152 B: ([0-9.]+) us");
  ASSERT_FALSE(match.empty()) << said;
  EXPECT_GT(std::stod(match[1]), (1 << 21) * 8 / kLimit_Gbps / 1e3);
  EXPECT_LT(std::stod(match[1]), 2 * (1 << 21) * 8 / kLimit_Gbps / 1e3);
}

TEST_F(Ucx, RunsOpenMpiFourRanksOnFourAndTwoNodes) {
  Live world(kLab);
  std::string said;
  EXPECT_EQ(mpirun({"h0", "h1", "h2", "h3"}, said), 0) << said;
  EXPECT_NE(said.find("4 ranks, 0 elements wrong"), said.npos) << said;
  // Two ranks of a node talk through the NIC's own loop.
  EXPECT_EQ(mpirun({"h0", "h0", "h1", "h1"}, said), 0) << said;
  EXPECT_NE(said.find("4 ranks, 0 elements wrong"), said.npos) << said;
}

TEST_F(Ucx, RunsOneSidedMpiByWallClock) {
  Live world(kLab, "--clock wall");
  std::string said;
  EXPECT_EQ(mpirun({"h0", "h1"}, said, "one_sided"), 0) << said;
  for (const char* rank : {"rank 0 of 2 on h0: 0 wrong", "rank 1 of 2 on h1: 0 wrong"})
    EXPECT_NE(said.find(rank), said.npos) << said;
}

// mpirun is a program of h0 and starts its daemons on the other nodes by what stands for ssh (docs/live.md).
class MpirunInside : public Ucx {
 protected:
  MpirunInside() : directory_(make_directory()), agent_(directory_ + "/agent") {
    std::ofstream(agent_) << "#!/bin/sh\nnode=$1; shift\nexec " WEFT_BINARY " exec \"$node\" -- sh -c \"$*\"\n";
    fs::permissions(agent_, fs::perms::owner_all);
  }
  ~MpirunInside() override { fs::remove_all(directory_); }

  // One rank on each of the first `nodes`; returns what they say.
  std::string run(int nodes, const std::string& program) {
    const std::string binary = directory_ + "/" + program;
    EXPECT_EQ(
        std::system(("mpicc -O1 -o " + binary + " " WEFT_SOURCE_DIR "/tests/interop/mpi_" + program + ".c").c_str()),
        0);
    const Live world(kLab);
    std::string hosts = "h0:1";
    for (int i = 1; i < nodes; ++i) hosts += ",h" + std::to_string(i) + ":1";
    EXPECT_EQ(world.shell("exec h0 -- mpirun --mca plm_rsh_agent " + agent_ +
                          " --mca plm_rsh_no_tree_spawn 1 --mca pml ucx --mca osc ucx --mca btl ^openib"
                          " -x UCX_TLS -x UCX_NET_DEVICES --host " +
                          hosts + " -np " + std::to_string(nodes) + " " + binary),
              0);
    deterministic_ = Live::ps().find("not deterministic") == std::string::npos;
    return world.output();
  }

 private:
  static std::string make_directory() {
    char name[] = "/tmp/weft-mpi-XXXXXX";
    return mkdtemp(name);
  }
  std::string directory_, agent_;

 protected:
  bool deterministic_ = true;  // as the world of the last run says
};

TEST_F(MpirunInside, RunsOneSidedMpi) {
  const std::string said = run(3, "one_sided");
  for (int rank = 0; rank < 3; ++rank) {
    const std::string number = std::to_string(rank);
    EXPECT_NE(said.find("rank " + number + " of 3 on h" + number + ": 0 wrong"), said.npos) << said;
  }
  // Open MPI comes to the queues of one-sided MPI after a hundred polls of others. That takes no time, so that what
  // is left is a dozen messages of some microseconds each.
  const std::vector<std::string> match = test::match(said, "rank 0 of 3 on h0: 0 wrong, ([0-9.]+) us");
  ASSERT_FALSE(match.empty()) << said;
  EXPECT_LT(std::stod(match[1]), 200);
}

// Threads, daemons and ranks run one at a time: the same times, to the last digit, unless the world says that a busy
// machine had a say.
TEST_F(MpirunInside, RepeatsTimes) {
  std::vector<std::string> repeatable;
  for (int tries = 0; tries < 20 && repeatable.size() < 2; ++tries) {
    const std::string said = run(2, "collectives");
    EXPECT_NE(said.find("2 ranks, 0 elements wrong"), said.npos) << said;
    if (deterministic_) repeatable.push_back(said);
  }
  ASSERT_EQ(repeatable.size(), 2u) << Live::ps();
  EXPECT_EQ(repeatable[0], repeatable[1]);
}

// Rows of fi_pingpong: size, sent, acknowledged, total, time, MB/s, us per transfer, M transfers per second.
std::map<std::string, double> us_by_size(const std::string& text) {
  std::map<std::string, double> rows;
  std::istringstream lines(text.substr(std::min(text.find("bytes "), text.size())));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string size, sent, acknowledged, total, time, rate, us;
    if (words >> size >> sent >> acknowledged >> total >> time >> rate >> us) rows[size] = std::stod(us);
  }
  return rows;
}

TEST(Libfabric, RunsPingpongOverEveryEndpointType) {
  Live world(kLab);
  setenv("FI_VERBS_GID_IDX", "3", 1);  // of datagrams; its default, 0, is RoCE v1
  for (const char* endpoint : {"-p verbs -d mlx5_0 -e msg", "-p verbs -d mlx5_0-dgram -e dgram",
                               "-p 'verbs;ofi_rxm' -e rdm", "-p 'verbs;ofi_rxd' -e rdm"}) {
    // Datagrams leave from GID index 0 otherwise, which is RoCE v1.
    auto rows = us_by_size(world.pair("h0", "h1", std::string("env FI_VERBS_GID_IDX=3 fi_pingpong -c ") + endpoint));
    ASSERT_TRUE(rows.contains("4k")) << endpoint;
    // Half a round trip: 4 KiB take 0.33 us on each of two cables, and the whole way less than 10 us.
    EXPECT_GT(rows["4k"], 2 * 4178 * 8 / 100e3) << endpoint;
    EXPECT_LT(rows["4k"], 10) << endpoint;
  }
}

// MPICH, whose only way to the fabric is UCX in Debian.
TEST_F(Ucx, RunsMpich) {
  char name[] = "/tmp/weft-mpi-XXXXXX";
  const std::string directory = mkdtemp(name);
  for (const char* program : {"collectives", "one_sided"}) {
    ASSERT_EQ(std::system(("mpicc.mpich -O1 -o " + directory + "/" + program +
                           " " WEFT_SOURCE_DIR "/tests/interop/mpi_" + program + ".c")
                              .c_str()),
              0);
  }
  for (const char* clock : {"virtual", "wall"}) {
    Live world(kLab, std::string("--clock ") + clock);
    for (const auto& [program, result] :
         {std::pair<std::string, std::string>{"collectives", "2 ranks, 0 elements wrong"},
          {"one_sided", "rank 0 of 2 on h0: 0 wrong"}}) {
      const std::string rank = " -n 1 " WEFT_BINARY " exec ", run = " -- " + directory + "/" + program;
      EXPECT_EQ(std::system((test::timeout(100) + "mpiexec.mpich" + rank + "h0" + run + " :" + rank + "h1" + run +
                             " >" + directory + "/out 2>&1 </dev/null")
                                .c_str()),
                0);
      const std::string said = text_of(directory + "/out");
      EXPECT_NE(said.find(result), said.npos) << clock << "\n" << said;
    }
  }
  fs::remove_all(directory);
}

// Tags, RMA and atomics, every byte compared (programs/fabric_probe.cc).
TEST(Libfabric, MovesBytesByTagsRmaAndAtomics) {
  for (const char* clock : {"virtual", "wall"}) {
    Live world(kLab, std::string("--clock ") + clock);
    const Live::Said said = world.run_well("h0", WEFT_FABRIC_PROBE " serve", "h1", WEFT_FABRIC_PROBE " ask h0");
    EXPECT_EQ(said.client, "tags: ok\nrma: ok\natomics: ok\n");
  }
}

// Open MPI's other way to the fabric.
TEST_F(Ucx, RunsOpenMpiOverLibfabric) {
  for (const char* clock : {"virtual", "wall"}) {
    Live world(kLab, std::string("--clock ") + clock);
    std::string said;
    EXPECT_EQ(mpirun({"h0", "h1"}, said, "collectives",
                     "--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm'"),
              0)
        << said;
    EXPECT_NE(said.find("2 ranks, 0 elements wrong"), said.npos) << said;
    if (std::string(clock) == "wall") continue;
    const std::vector<std::string> match = test::match(said, "allreduce 2097152 B: ([0-9.]+) us");
    ASSERT_FALSE(match.empty()) << said;
    EXPECT_GT(std::stod(match[1]), (1 << 21) * 8 / kLimit_Gbps / 1e3);
    EXPECT_LT(std::stod(match[1]), 3 * (1 << 21) * 8 / kLimit_Gbps / 1e3);
  }
}

}  // namespace
}  // namespace weft::interop
