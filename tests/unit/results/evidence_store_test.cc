// The evidence of a run as rows of results.sqlite.
#include "results/evidence_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace weft::lab {
namespace {

class EvidenceStore : public testing::Test {
 protected:
  EvidenceStore()
      : path_((std::filesystem::temp_directory_path() /
               ("weft_evidence_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) +
                std::to_string(getpid())))
                  .string()) {}
  ~EvidenceStore() override { std::filesystem::remove(path_); }

  void write(const Evidence& evidence) {
    std::filesystem::remove(path_);
    store::SqliteFile file(path_, store::SqliteFile::Mode::kCreate);
    file.execute("CREATE TABLE run(key TEXT, value TEXT)");
    write_evidence(file, evidence);
    EXPECT_EQ(file.error(), "");
  }
  // All values of the rows, one line each.
  std::string rows_of(const std::string& sql, int columns) {
    store::SqliteFile file(path_, store::SqliteFile::Mode::kRead);
    store::SqliteRows rows(file, sql.c_str());
    std::string out;
    while (rows.next()) {
      for (int i = 0; i < columns; ++i) out += (i == 0 ? "" : "|") + rows.text(i);
      out += "\n";
    }
    EXPECT_EQ(file.error(), "");
    return out;
  }

  std::string path_;
};

SenderEvidence sender_between(const std::string& from, const std::string& to, std::uint32_t qpn) {
  SenderEvidence sender;
  sender.from = from;
  sender.to = to;
  sender.qpn = qpn;
  return sender;
}

TEST_F(EvidenceStore, SendersHaveTimesPathsAndWorkloads) {
  Evidence evidence;
  evidence.senders.push_back(sender_between("a:p0", "b:p0", 0x108));
  evidence.senders.back().workload = "bulk";
  evidence.senders.back().held = {{"sending", 70}, {"paused", 30}};
  evidence.senders.back().path = {"a:p0", "leaf:swp2"};
  evidence.senders.back().earlier = {{500, {"a:p0", "leaf:swp1"}}, {900, {}}};
  evidence.senders.push_back(sender_between("b:p0", "a:p0", 0x109));
  write(evidence);
  EXPECT_EQ(rows_of("SELECT id, port, peer, qpn, workload FROM sender", 5), "1|a:p0|b:p0|264|bulk\n2|b:p0|a:p0|265|\n");
  EXPECT_EQ(rows_of("SELECT * FROM sender_held", 3), "1|sending|70\n1|paused|30\n");
  EXPECT_EQ(rows_of("SELECT * FROM sender_path", 3), "1|0|a:p0\n1|1|leaf:swp2\n");
  EXPECT_EQ(rows_of("SELECT * FROM sender_path_before", 4), "1|500|0|a:p0\n1|500|1|leaf:swp1\n1|900|0|\n");
}

TEST_F(EvidenceStore, FlowIsJoinedWithItsOwnRequests) {
  Evidence evidence;
  evidence.senders.push_back(sender_between("a:p0", "b:p0", 0x108));
  evidence.senders.back().replies = true;  // READ data of the same queue pair
  evidence.senders.push_back(sender_between("a:p0", "b:p0", 0x108));
  FlowEvidence flow;
  flow.workload = "incast";
  flow.number = 3;
  flow.from = "a:p0";
  flow.qpn = 0x108;
  evidence.flows.push_back(flow);
  flow.number = 4;
  flow.qpn = 0x10a;  // has sent nothing
  evidence.flows.push_back(flow);
  flow.number = 5;
  flow.qpn = 0;  // has not begun
  evidence.flows.push_back(flow);
  write(evidence);
  EXPECT_EQ(rows_of("SELECT * FROM flow_sender", 3), "incast|3|2\n");
}

TEST_F(EvidenceStore, CircumstancesAreKept) {
  Evidence evidence;
  evidence.forwarder_cpus.push_back({"br0", 2, 1000, 77});
  evidence.rx_rings.push_back({"br0:eth1", 1024, 900, 5});
  evidence.lossy_classes.push_back({"spine0", 1, 26, 0, 3});
  evidence.collectives.push_back({"train", 8, 4, 2, 100, 50, 90, 30, "NCCL_IB_DISABLE=1"});
  evidence.circular_waits = {{"x:1", "y:1"}, {"z:1"}};
  write(evidence);
  EXPECT_EQ(rows_of("SELECT * FROM forwarder_cpu", 4), "br0|2|1000|77\n");
  EXPECT_EQ(rows_of("SELECT * FROM rx_ring", 4), "br0:eth1|1024|900|5\n");
  EXPECT_EQ(rows_of("SELECT * FROM lossy_class", 5), "spine0|1|26|0|3\n");
  EXPECT_EQ(rows_of("SELECT * FROM collective_use", 9), "train|8|4|2|100|50|90|30|NCCL_IB_DISABLE=1\n");
  EXPECT_EQ(rows_of("SELECT * FROM circular_wait", 3), "0|0|x:1\n0|1|y:1\n1|0|z:1\n");
}

TEST_F(EvidenceStore, EmptyEvidenceHasTablesAndNoRows) {
  write({});
  for (const char* table : {"sender", "sender_held", "sender_path", "sender_path_before", "flow_sender", "event",
                            "link", "link_lost", "fault", "forwarder_cpu", "rx_ring", "lossy_class", "collective_use"})
    EXPECT_EQ(rows_of(std::string("SELECT count(*) FROM ") + table, 1), "0\n") << table;
  EXPECT_EQ(rows_of("SELECT * FROM run", 2), "recorded|0\nleft_out|0\npauses_left_out|0\n");
}

}  // namespace
}  // namespace weft::lab
