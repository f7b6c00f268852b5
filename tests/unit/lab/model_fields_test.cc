#include "lab/model_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace weft::lab {
namespace {

// How many members an aggregate has: the most values that braces take.
struct Anything {
  template <class T>
  operator T() const;
};
template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires {
    T{(static_cast<void>(I), Anything{})...};
  };
}
template <class T, std::size_t N = 64>
constexpr std::size_t member_count() {
  if constexpr (takes<T>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return member_count<T, N - 1>();
  }
}

// A member that is added to a model must get a name here and a value in the catalog. `name` is the key.
TEST(ModelFields, EveryMemberOfAModelHasAField) {
  EXPECT_EQ(nic_fields().size() + 1, member_count<nic::NicModel>());
  EXPECT_EQ(host_fields().size() + 1, member_count<host::HostModel>());
}

TEST(ModelFields, KeysAndMembersAreUnique) {
  for (const auto& a : nic_fields()) {
    for (const auto& b : nic_fields()) {
      if (&a == &b) continue;
      EXPECT_NE(a.key, b.key);
      EXPECT_FALSE(a.member == b.member) << a.key << " and " << b.key;
    }
  }
  for (const auto& a : host_fields()) {
    for (const auto& b : host_fields()) {
      if (&a == &b) continue;
      EXPECT_NE(a.key, b.key);
      EXPECT_FALSE(a.member == b.member) << a.key << " and " << b.key;
    }
  }
}

TEST(ModelFields, SetChangesNumbersFlagsAndChoices) {
  ProblemList problems;
  nic::NicModel nic;
  apply_set(
      *parse_yaml("{ack_interval: 16 packets, mig_req: false, cnp_scope: queue-pair, tx_latency: 0.5 us, ports: 4}",
                  problems),
      nic, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(nic.ack_interval_packets, 16U);
  EXPECT_FALSE(nic.mig_req);
  EXPECT_EQ(nic.cnp_scope, nic::CnpScope::kQueuePair);
  EXPECT_EQ(nic.tx_latency_ps, ns(500));
  EXPECT_EQ(nic.ports, 4U);
  host::HostModel host;
  apply_set(*parse_yaml("{poll_hit: 61 ns}", problems), host, problems);
  EXPECT_EQ(host.poll_hit_ps, ns(61));
}

TEST(ModelFields, SetDoesNotChangeWhatADeviceIs) {
  ProblemList problems;
  nic::NicModel nic;
  apply_set(*parse_yaml("{driver: mlx6}", problems), nic, problems);
  EXPECT_EQ(problems.size(), 1U);
  const auto keys = settable_nic_keys();
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "driver"), 0);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "tx_latency"), 1);
}

}  // namespace
}  // namespace weft::lab
