#include "lab/catalog.h"

#include <gtest/gtest.h>

#include <set>

#include "lab/model_fields.h"
#include "unit/lab/lab_text.h"

namespace weft::lab {
namespace {

using Names = std::vector<std::string>;

TEST(Catalog, BuiltInLoads) {
  const auto parsed = Catalog::parse({kCatalogFiles, kCatalogFileCount});
  ASSERT_TRUE(parsed.has_value()) << fmt::format("{}", fmt::join(parsed.error(), "\n"));
  EXPECT_EQ(&Catalog::built_in(), &Catalog::built_in());
}

TEST(Catalog, HasTheDevicesOfTheIssue) {
  const Catalog& catalog = Catalog::built_in();
  for (const char* name : {"cx4-lx-25g", "cx5-100g", "cx5-25g", "cx6-200g", "cx6-25g", "cx7-400g", "cx7-spark-200g",
                           "e810-100g", "bf2-100g", "bf3-400g"}) {
    EXPECT_NE(catalog.nic(name), nullptr) << name;
  }
  for (const char* name : {"epyc-7551p", "generic-x86", "xeon-gdr-100g", "dgx-spark", "dgx-h100"}) {
    EXPECT_NE(catalog.host(name), nullptr) << name;
  }
  EXPECT_TRUE(catalog.has_gpu("rtx-3090"));
  EXPECT_FALSE(catalog.has_gpu("cx5-100g"));
  EXPECT_EQ(catalog.nic("epyc-7551p"), nullptr);
}

TEST(Catalog, ValuesReachTheModels) {
  const nic::NicModel& cx4 = *Catalog::built_in().nic("cx4-lx-25g");
  EXPECT_EQ(cx4.name, "cx4-lx-25g");
  EXPECT_EQ(cx4.driver, "mlx5");
  EXPECT_EQ(cx4.line_rate_bps, 25'000'000'000);
  EXPECT_EQ(cx4.pcie_lanes, 8U);
  EXPECT_EQ(cx4.max_netdev_mtu_B, 9978);
  EXPECT_EQ(cx4.cnp_scope, nic::CnpScope::kDestinationAddress);
  EXPECT_EQ(cx4.ack_timeout_mode, nic::AckTimeoutMode::kFormula);
  EXPECT_TRUE(cx4.mig_req);
  const nic::NicModel& e810 = *Catalog::built_in().nic("e810-100g");
  EXPECT_FALSE(e810.mig_req);
  EXPECT_EQ(e810.min_time_between_cnps_ps, us(50));
  EXPECT_EQ(Catalog::built_in().nic("cx7-spark-200g")->pcie_functions_per_port, 2U);
  EXPECT_EQ(Catalog::built_in().nic("cx6-200g")->ack_timeout_mode, nic::AckTimeoutMode::kConnectX);
}

// `weft catalog show` can print every field of a model, with where it comes from.
TEST(Catalog, EveryFieldHasAValueASourceAndATag) {
  const Catalog& catalog = Catalog::built_in();
  const auto check = [&](CatalogKind kind, const auto& fields) {
    for (std::string_view name : catalog.names(kind)) {
      const CatalogEntry& entry = *catalog.entry(name);
      EXPECT_FALSE(entry.description.empty()) << name;
      std::set<std::string> shown;
      for (const CatalogRow& row : entry.rows) {
        EXPECT_FALSE(row.value.empty()) << name << "." << row.field;
        EXPECT_FALSE(row.source.empty()) << name << "." << row.field;
        EXPECT_TRUE(row.tag == "V" || row.tag == "S" || row.tag == "R" || row.tag == "E" || row.tag == "F")
            << name << "." << row.field;
        EXPECT_TRUE(shown.insert(row.field).second) << row.field;
      }
      for (const auto& field : fields) {
        EXPECT_TRUE(field.key == "description" || shown.contains(std::string(field.key))) << name << "." << field.key;
      }
    }
  };
  check(CatalogKind::kNic, nic_fields());
  check(CatalogKind::kHost, host_fields());
}

// A host must not be able to post or poll in no time, nor a port to run at a rate it does not have.
TEST(Catalog, ModelsMakeSense) {
  const Catalog& catalog = Catalog::built_in();
  for (std::string_view name : catalog.names(CatalogKind::kNic)) {
    const nic::NicModel& nic = *catalog.nic(name);
    EXPECT_GT(nic.tx_latency_ps, 0) << name;
    EXPECT_GT(nic.rx_latency_ps, 0) << name;
    EXPECT_GT(nic.ack_interval_packets, 0U) << name;
    EXPECT_EQ(nic.pci_id.size(), 9U) << name;
    EXPECT_EQ(nic.oui.size(), 8U) << name;
    EXPECT_TRUE(nic.driver == "mlx5" || nic.driver == "irdma") << name;
    ASSERT_FALSE(catalog.link_rates_bps(name).empty()) << name;
    EXPECT_EQ(catalog.link_rates_bps(name)[0], nic.line_rate_bps) << name;
  }
  EXPECT_TRUE(catalog.link_rates_bps("nope").empty());
}

TEST(Catalog, CablesAndFec) {
  const Catalog& catalog = Catalog::built_in();
  EXPECT_EQ(catalog.cable(CableKind::kDac).propagation_ps_per_m, 4600);
  EXPECT_EQ(catalog.cable(CableKind::kFibre).propagation_ps_per_m, 4900);
  EXPECT_EQ(catalog.fec_latency_ps(Fec::kNone, 25'000'000'000), 0);
  EXPECT_EQ(catalog.fec_latency_ps(Fec::kBaseR, 25'000'000'000), ns(80));
  EXPECT_EQ(catalog.fec_latency_ps(Fec::kNone, 200'000'000'000), std::nullopt);
  EXPECT_EQ(catalog.fec_latency_ps(Fec::kRs528, 400'000'000'000), std::nullopt);
}

TEST(Catalog, Nearest) {
  const Catalog& catalog = Catalog::built_in();
  EXPECT_EQ(catalog.nearest("cx7-40g", CatalogKind::kNic), Names{"cx7-400g"});
  EXPECT_EQ(catalog.nearest("epyc"), Names{"epyc-7551p"});
  EXPECT_EQ(catalog.nearest("epyc", CatalogKind::kNic), Names{});
}

std::vector<std::string> errors_of(const char* text) {
  std::vector<EmbeddedFile> files(kCatalogFiles, kCatalogFiles + kCatalogFileCount);
  files.push_back({"more.yaml", text});
  const auto parsed = Catalog::parse(files);
  return parsed ? std::vector<std::string>{} : parsed.error();
}

TEST(Catalog, MistakesAreFound) {
  const auto gpu =
      errors_of("kind: gpu\nentries:\n  x1:\n    description: X\n    memory: {value: 1 GB, source: \"\", tag: Q}\n");
  EXPECT_NE(fmt::format("{}", fmt::join(gpu, "\n")).find("more.yaml:5:35: an empty source"), std::string::npos);
  EXPECT_NE(fmt::format("{}", fmt::join(gpu, "\n"))
                .find("more.yaml:5:44: tag \"Q\" is not known\n  write one of V, S, R, E, F"),
            std::string::npos);
  EXPECT_NE(fmt::format("{}", fmt::join(gpu, "\n")).find("x1 has no \"gpudirect\""), std::string::npos);
  EXPECT_EQ(errors_of("kind: tape\nentries: {}\n"),
            Names{"more.yaml:1:7: kind \"tape\" is not known\n  write one of nic, host, gpu, cable, fec"});
  const auto twice = errors_of("kind: host\nentries:\n  dac:\n    description: X\n");
  ASSERT_FALSE(twice.empty());
  EXPECT_EQ(twice[0], "more.yaml:3:3: dac is already in the catalog");
  EXPECT_FALSE(Catalog::parse({}).has_value());  // no cables, no FEC
}

}  // namespace
}  // namespace weft::lab
