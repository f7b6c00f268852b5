#include "catalog/model_fields.h"

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
TEST(ModelFields, ModelMembersHaveFields) {
  EXPECT_EQ(nic_fields().size() + 1, member_count<nic::NicModel>());
  EXPECT_EQ(host_fields().size() + 3, member_count<host::HostModel>());        // a layout, and its CPUs
  EXPECT_EQ(switch_fields().size() + 2, member_count<fabric::SwitchModel>());  // ports are read apart, as is a layout
  EXPECT_EQ(gpu_fields().size() + 1, member_count<host::GpuModel>());
}

TEST(ModelFields, KeysAndMembersAreUnique) {
  for (const FieldList& fields : {nic_fields(), host_fields(), switch_fields()}) {
    for (const FieldInfo& a : fields) {
      for (const FieldInfo& b : fields) {
        if (&a == &b) continue;
        EXPECT_NE(a.key, b.key);
        const bool texts = a.value.kind == FieldKind::kText;
        EXPECT_FALSE(texts ? a.value.store_text == b.value.store_text
                           : a.value.store != nullptr && a.value.store == b.value.store)
            << a.key << " and " << b.key;
      }
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
  fabric::SwitchModel model;
  apply_set(*parse_yaml("{buffer: 32 MB, cell: 208 B, buffer_split: pipe-pair, headroom_method: fixed, has_pfc: true, "
                        "pipeline: 450 ns, pipes: 4}",
                        problems),
            model, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(model.buffer_B, 32'000'000);
  EXPECT_EQ(model.cell_B, 208U);
  EXPECT_EQ(model.buffer_split, fabric::BufferSplit::kPipePair);
  EXPECT_EQ(model.headroom_method, fabric::HeadroomMethod::kFixed);
  EXPECT_TRUE(model.has_pfc);
  EXPECT_EQ(model.pipeline_ps, ns(450));
  EXPECT_EQ(model.pipes, 4U);
  apply_set(*parse_yaml("{cell: 0 B, asic: other}", problems), model, problems);
  EXPECT_EQ(problems.size(), 2U);
}

TEST(ModelFields, PauseThresholdsFollowReceiveBuffer) {
  ProblemList problems;
  nic::NicModel nic;
  nic.rx_buffer_B = 100'000;
  nic.rx_pause_xoff_B = 85'000;
  nic.rx_pause_xon_B = 50'000;
  apply_set(*parse_yaml("{rx_buffer: 200000 B}", problems), nic, problems);
  EXPECT_EQ(nic.rx_pause_xoff_B, 170'000);
  EXPECT_EQ(nic.rx_pause_xon_B, 100'000);
  apply_set(*parse_yaml("{rx_buffer: 100000 B, rx_pause_xoff: 60000 B}", problems), nic, problems);
  EXPECT_EQ(nic.rx_pause_xoff_B, 60'000);
  EXPECT_EQ(nic.rx_pause_xon_B, 50'000);
  EXPECT_TRUE(problems.empty());
  apply_set(*parse_yaml("{rx_pause_xoff: 40000 B}", problems), nic, problems);  // below XON
  EXPECT_EQ(problems.size(), 1U);
  apply_set(*parse_yaml("{rx_pause_xoff: 200000 B}", problems), nic, problems);  // beyond the buffer
  EXPECT_EQ(problems.size(), 2U);
}

TEST(ModelFields, SetDoesNotChangeDeviceIdentity) {
  ProblemList problems;
  nic::NicModel nic;
  apply_set(*parse_yaml("{driver: mlx6}", problems), nic, problems);
  EXPECT_EQ(problems.size(), 1U);
  const auto keys = kNicSetKeys.keys();
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "driver"), 0);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "tx_latency"), 1);
}

}  // namespace
}  // namespace weft::lab
