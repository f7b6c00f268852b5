#include <gtest/gtest.h>

#include <map>
#include <set>

#include "spec/nic_counters.h"

namespace weft::nic {
namespace {

// drivers/infiniband/hw/mlx5/counters.c, in its order; those that are modelled.
const char* const kMlx5Names[] = {"rx_write_requests",
                                  "rx_read_requests",
                                  "rx_atomic_requests",
                                  "out_of_buffer",
                                  "out_of_sequence",
                                  "duplicate_request",
                                  "rnr_nak_retry_err",
                                  "packet_seq_err",
                                  "implied_nak_seq_err",
                                  "local_ack_timeout_err",
                                  "resp_local_length_error",
                                  "resp_cqe_error",
                                  "req_cqe_error",
                                  "req_remote_invalid_request",
                                  "req_remote_access_errors",
                                  "resp_remote_access_errors",
                                  "resp_cqe_flush_error",
                                  "req_cqe_flush_error",
                                  "req_transport_retries_exceeded",
                                  "req_rnr_retries_exceeded",
                                  "roce_adp_retrans",
                                  "roce_adp_retrans_to",
                                  "roce_slow_restart",
                                  "roce_slow_restart_cnps",
                                  "rp_cnp_ignored",
                                  "rp_cnp_handled",
                                  "np_ecn_marked_roce_packets",
                                  "np_cnp_sent",
                                  "rx_icrc_encapsulated"};

TEST(Counters, HardwareCountersUseDriverNamesAndOrder) {
  std::vector<std::string> names;
  for (const NamedCounter& counter : named(Counters{})) {
    if (counter.group == CounterGroup::kHardware) names.emplace_back(counter.name);
  }
  EXPECT_EQ(names, std::vector<std::string>(std::begin(kMlx5Names), std::end(kMlx5Names)));
}

TEST(Counters, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const NamedCounter& counter : named(Counters{})) EXPECT_TRUE(names.insert(counter.name).second) << counter.name;
}

std::map<std::string, std::uint64_t> by_name(const Counters& counters) {
  std::map<std::string, std::uint64_t> map;
  for (const NamedCounter& counter : named(counters)) map[std::string(counter.name)] = counter.value;
  return map;
}

TEST(Counters, ValuesMatchNames) {
  Counters c;
  c.out_of_sequence = 1;
  c.packet_seq_err = 2;
  c.np_cnp_sent = 3;
  c.rx_icrc_encapsulated = 4;
  c.priorities[3].tx.packets = 5;
  c.priorities[6].rx.bytes = 6;
  auto map = by_name(c);
  EXPECT_EQ(map["out_of_sequence"], 1U);
  EXPECT_EQ(map["packet_seq_err"], 2U);
  EXPECT_EQ(map["np_cnp_sent"], 3U);
  EXPECT_EQ(map["rx_icrc_encapsulated"], 4U);
  EXPECT_EQ(map["tx_prio3_packets"], 5U);
  EXPECT_EQ(map["rx_prio6_bytes"], 6U);
}

// vport counters leave the FCS out, phy counters have it ([linux] mlx5 counters.rst).
TEST(Counters, PhyBytesIncludeFcs) {
  Counters c;
  c.priorities[0].tx = {4, 300};
  c.priorities[3].tx = {6, 700};
  auto map = by_name(c);
  EXPECT_EQ(map["tx_vport_rdma_unicast_bytes"], 1000U);
  EXPECT_EQ(map["tx_vport_rdma_unicast_packets"], 10U);
  EXPECT_EQ(map["tx_bytes_phy"], 1040U);
}

}  // namespace
}  // namespace weft::nic
