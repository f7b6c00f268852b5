#include "model/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "spec/nic_counters.h"

namespace weft::lab {
namespace {

TEST(Metrics, CounterNamesAreUniqueAndExpanded) {
  const auto counters = known_counters();
  EXPECT_EQ(std::set<std::string_view>(counters.begin(), counters.end()).size(), counters.size());
  for (const char* name : {"out_of_sequence", "packet_seq_err", "rx_prio0_pause", "rx_prio7_pause", "tx_prio3_bytes",
                           "rx_discards_phy", "port_xmit_data", "np_cnp_sent", "cnpSent"}) {
    EXPECT_TRUE(is_known_counter(name)) << name;
  }
  for (const char* name : {"", "rx_prio8_pause", "rx_prio{}_pause", "Out_of_sequence"})
    EXPECT_FALSE(is_known_counter(name)) << name;
}

// What the NIC counts goes by a name that a driver has.
TEST(Metrics, CounterNamesExist) {
  for (const std::string& name : counted_counters()) EXPECT_TRUE(is_known_counter(name)) << name;
  // Five of pauses for each priority come from the port.
  EXPECT_EQ(counted_counters().size(), nic::named(nic::Counters{}).size() + 5 * 8);
}

// libibverbs/verbs.h enum ibv_wc_status.
TEST(Metrics, CompletionStatuses) {
  EXPECT_EQ(wc_status_value("IBV_WC_SUCCESS"), 0);
  EXPECT_EQ(wc_status_value("IBV_WC_WR_FLUSH_ERR"), 5);
  EXPECT_EQ(wc_status_value("IBV_WC_REM_INV_REQ_ERR"), 9);
  EXPECT_EQ(wc_status_value("IBV_WC_REM_ACCESS_ERR"), 10);
  EXPECT_EQ(wc_status_value("IBV_WC_RETRY_EXC_ERR"), 12);
  EXPECT_EQ(wc_status_value("IBV_WC_RNR_RETRY_EXC_ERR"), 13);
  EXPECT_EQ(wc_status_value("IBV_WC_GENERAL_ERR"), 21);
  EXPECT_EQ(wc_status_value("IBV_WC_NOPE"), std::nullopt);
}

}  // namespace
}  // namespace weft::lab
