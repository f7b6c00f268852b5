#include "catalog/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

#include "catalog/catalog_source.h"
#include "catalog/model_fields.h"
#include "model/headroom.h"
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

using Names = std::vector<std::string>;

// catalog/*.yaml as the build took them.
std::vector<CatalogFile> catalog_files() {
  std::vector<CatalogFile> files;
  for (const auto& item : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/catalog")) {
    if (item.path().extension() != ".yaml") continue;
    std::ostringstream text;
    text << std::ifstream(item.path()).rdbuf();
    files.push_back({item.path().filename(), text.str()});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

template <class Model>
void expect_same(FieldList fields, const Model* a, const Model* b) {
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(a->name, b->name);
  for (const FieldInfo& field : fields)
    EXPECT_EQ(field_text(field, a), field_text(field, b)) << a->name << "." << field.key;
}

// What was compiled in is what the files say: every text, every number, every model.
TEST(Catalog, BuiltInMatchesFiles) {
  const auto parsed = Catalog::parse(catalog_files());
  ASSERT_TRUE(parsed.has_value()) << fmt::format("{}", fmt::join(parsed.error(), "\n"));
  const Catalog& built_in = Catalog::built_in();
  EXPECT_EQ(&built_in, &Catalog::built_in());
  ASSERT_EQ(built_in.entries().size(), parsed->entries().size());
  for (std::size_t i = 0; i < parsed->entries().size(); ++i) {
    const CatalogEntry& a = built_in.entries()[i];
    const CatalogEntry& b = parsed->entries()[i];
    SCOPED_TRACE(b.name);
    EXPECT_EQ(std::tie(a.kind, a.name, a.description), std::tie(b.kind, b.name, b.description));
    ASSERT_EQ(a.rows.size(), b.rows.size());
    for (std::size_t r = 0; r < b.rows.size(); ++r) {
      const auto values = [](const CatalogRow& row) {
        return std::tie(row.field, row.value, row.source, row.tag, row.number);
      };
      EXPECT_EQ(values(a.rows[r]), values(b.rows[r]));
    }
    EXPECT_TRUE(std::ranges::equal(a.link_rates_bps, b.link_rates_bps));
    if (a.kind == CatalogKind::kNic) expect_same(nic_fields(), built_in.nic(a.name), parsed->nic(a.name));
    if (a.kind == CatalogKind::kHost) expect_same(host_fields(), built_in.host(a.name), parsed->host(a.name));
    if (a.kind != CatalogKind::kSwitch) continue;
    expect_same(switch_fields(), built_in.switch_model(a.name), parsed->switch_model(a.name));
    const auto& ports = built_in.switch_model(a.name)->ports;
    ASSERT_EQ(ports.size(), parsed->switch_model(a.name)->ports.size());
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const fabric::FrontPorts& other = parsed->switch_model(a.name)->ports[p];
      EXPECT_EQ(std::tie(ports[p].count, ports[p].rates_bps, ports[p].lanes),
                std::tie(other.count, other.rates_bps, other.lanes));
    }
  }
}

// A catalog outlives the files that it was read from, and so do its copies.
TEST(Catalog, ParsedCatalogKeepsTexts) {
  std::optional<Catalog> copy;
  {
    auto parsed = Catalog::parse(catalog_files());
    ASSERT_TRUE(parsed.has_value());
    copy = *parsed;
  }
  EXPECT_EQ(copy->entry("cx4-lx-25g")->rows[0].value, "mlx5");
}

TEST(Catalog, SourceQuotesTexts) {
  std::vector<CatalogFile> files = catalog_files();
  files.push_back({"more.yaml", R"(kind: cable
entries:
  x1:
    description: 'a "quoted" \ text, sure??/'
    propagation: {value: 4.6 ns/m, source: µ, tag: E}
    max_length: {value: 5 m, source: s, tag: E}
)"});
  const auto parsed = Catalog::parse(files);
  ASSERT_TRUE(parsed.has_value()) << fmt::format("{}", fmt::join(parsed.error(), "\n"));
  const std::string source = catalog_source(*parsed);
  EXPECT_NE(source.find(R"("a \"quoted\" \\ text, sure\?\?/")"), std::string::npos);
  EXPECT_NE(source.find(R"({"propagation", "4.6 ns/m", "µ", "E", 4600})"), std::string::npos);
}

TEST(Catalog, HasRequiredDevices) {
  const Catalog& catalog = Catalog::built_in();
  for (const char* name : {"cx4-lx-25g", "cx5-100g", "cx5-25g", "cx6-200g", "cx6-25g", "cx7-400g", "cx7-spark-200g",
                           "e810-100g", "bf2-100g", "bf3-400g"}) {
    EXPECT_NE(catalog.nic(name), nullptr) << name;
  }
  for (const char* name : {"epyc-7551p", "generic-x86", "xeon-gdr-100g", "dgx-spark", "dgx-h100"}) {
    EXPECT_NE(catalog.host(name), nullptr) << name;
  }
  for (const char* name : {"sn2700", "sn3700c", "sn3700", "sn5600", "as7726-32x", "as7326-56x", "7050cx3-32s",
                           "7260cx3-64", "7800r3-48cq2", "n9600-64od", "n9k-93180yc-fx", "crs504"}) {
    EXPECT_NE(catalog.switch_model(name), nullptr) << name;
  }
  EXPECT_TRUE(catalog.has_gpu("rtx-3090"));
  EXPECT_FALSE(catalog.has_gpu("cx5-100g"));
  EXPECT_EQ(catalog.nic("epyc-7551p"), nullptr);
}

TEST(Catalog, ValuesReachModels) {
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
TEST(Catalog, FieldsHaveValueSourceAndTag) {
  const Catalog& catalog = Catalog::built_in();
  const auto check = [&](CatalogKind kind, const auto& fields) {
    for (std::string_view name : catalog.names(kind)) {
      const CatalogEntry& entry = *catalog.entry(name);
      EXPECT_FALSE(entry.description.empty()) << name;
      std::set<std::string_view> shown;
      for (const CatalogRow& row : entry.rows) {
        EXPECT_FALSE(row.value.empty()) << name << "." << row.field;
        EXPECT_FALSE(row.source.empty()) << name << "." << row.field;
        EXPECT_TRUE(row.tag == "V" || row.tag == "S" || row.tag == "R" || row.tag == "E" || row.tag == "F")
            << name << "." << row.field;
        EXPECT_TRUE(shown.insert(row.field).second) << row.field;
      }
      for (const auto& field : fields) {
        EXPECT_TRUE(field.key == "description" || shown.contains(field.key)) << name << "." << field.key;
      }
    }
  };
  check(CatalogKind::kNic, nic_fields());
  check(CatalogKind::kHost, host_fields());
  check(CatalogKind::kSwitch, switch_fields());
}

// A host must not be able to post or poll in no time, nor a port to run at a rate it does not have.
TEST(Catalog, ModelsAreConsistent) {
  const Catalog& catalog = Catalog::built_in();
  for (std::string_view name : catalog.names(CatalogKind::kNic)) {
    const nic::NicModel& nic = *catalog.nic(name);
    EXPECT_GT(nic.tx_latency_ps, 0) << name;
    EXPECT_GT(nic.rx_latency_ps, 0) << name;
    EXPECT_GT(nic.ack_interval_packets, 0U) << name;
    EXPECT_EQ(nic.pci_id.size(), 9U) << name;
    EXPECT_EQ(nic.oui.size(), 8U) << name;
    EXPECT_TRUE(nic.driver == "mlx5" || nic.driver == "irdma") << name;
    EXPECT_LT(nic.rx_pause_xoff_B, nic.rx_buffer_B) << name;
    EXPECT_LT(nic.rx_pause_xon_B, nic.rx_pause_xoff_B) << name;
    ASSERT_FALSE(catalog.link_rates_bps(name).empty()) << name;
    EXPECT_EQ(catalog.link_rates_bps(name)[0], nic.line_rate_bps) << name;
  }
  EXPECT_TRUE(catalog.link_rates_bps("nope").empty());
}

// [sonic-buildimage] 086b03bd, read by hand.
TEST(Catalog, SwitchValuesReachModels) {
  constexpr std::int64_t kGbps = 1'000'000'000;
  const fabric::SwitchModel& sn3700c = *Catalog::built_in().switch_model("sn3700c");
  EXPECT_EQ(sn3700c.name, "sn3700c");
  ASSERT_EQ(sn3700c.ports.size(), 1U);
  EXPECT_EQ(sn3700c.ports[0].count, 32U);
  EXPECT_EQ(sn3700c.ports[0].rates_bps.front(), 100 * kGbps);
  EXPECT_EQ(sn3700c.ports[0].lanes, 4U);
  EXPECT_EQ(sn3700c.buffer_B, 34287552);
  EXPECT_EQ(sn3700c.cell_B, 144U);
  EXPECT_EQ(sn3700c.ingress_pool_B, 14542848);
  EXPECT_TRUE(sn3700c.cut_through);
  EXPECT_TRUE(sn3700c.has_wjh);
  const fabric::SwitchModel& arista = *Catalog::built_in().switch_model("7260cx3-64");
  EXPECT_EQ(arista.buffer_split, fabric::BufferSplit::kPipePair);
  EXPECT_EQ(arista.buffer_slices, 4U);
  EXPECT_EQ(arista.buffer_B, 4 * 53248 * 208);
  EXPECT_EQ(arista.headroom_method, fabric::HeadroomMethod::kFixed);
  EXPECT_EQ(arista.headroom_fixed_xon_offset_B, 2496);
  EXPECT_EQ(Catalog::built_in().switch_model("as7326-56x")->ports[1].count, 8U);
  EXPECT_FALSE(Catalog::built_in().switch_model("crs504")->fec_autonegotiation);
  EXPECT_EQ(Catalog::built_in().switch_model("cx5-100g"), nullptr);
}

// The corner rows of pg_profile_lookup.ini, from the parameters that the catalog has.
TEST(Catalog, AutoHeadroomMatchesVendorTable) {
  constexpr std::int64_t kGbps = 1'000'000'000;
  const auto xoff_B = [](const char* name, std::int64_t rate_Gbps, std::int64_t length_m) {
    return fabric::auto_headroom_B(*Catalog::built_in().switch_model(name), rate_Gbps * kGbps, length_m * 1000);
  };
  EXPECT_EQ(xoff_B("sn2700", 25, 5), 29696);
  EXPECT_EQ(xoff_B("sn2700", 100, 300), 104448);
  EXPECT_EQ(xoff_B("sn3700c", 100, 40), 44032);
  EXPECT_EQ(xoff_B("sn3700", 200, 300), 203776);
  EXPECT_EQ(xoff_B("sn5600", 400, 40), 283648);
  EXPECT_EQ(xoff_B("7050cx3-32s", 100, 5), 160000);
  const fabric::SonicHeadroom row =
      fabric::spectrum_headroom(*Catalog::built_in().switch_model("sn5600"), 800 * kGbps, 5000);
  EXPECT_EQ(row.size_B, 304128);
  EXPECT_EQ(row.xon_B, 38912);
  EXPECT_EQ(row.xoff_B, 257024);
}

TEST(Catalog, SwitchesAreConsistent) {
  const Catalog& catalog = Catalog::built_in();
  for (std::string_view name : catalog.names(CatalogKind::kSwitch)) {
    SCOPED_TRACE(name);
    const fabric::SwitchModel& model = *catalog.switch_model(name);
    ASSERT_FALSE(model.ports.empty());
    EXPECT_EQ(model.oui.size(), 8U);
    EXPECT_GT(model.pipeline_ps, 0);
    // What the default configuration hands out exists.
    EXPECT_LE(model.ingress_pool_B + model.headroom_pool_B, model.buffer_B);
    EXPECT_LE(model.egress_lossy_pool_B, model.buffer_B);
    const bool fixed = model.headroom_method == fabric::HeadroomMethod::kFixed;
    EXPECT_GT(fixed ? model.headroom_fixed_B : model.headroom_pipeline_B, 0);
    EXPECT_EQ(model.buffer_split == fabric::BufferSplit::kShared || model.buffer_split == fabric::BufferSplit::kVoq,
              model.buffer_slices == 1);
  }
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
  EXPECT_EQ(catalog.nearest("epyc-7551"), Names{"epyc-7551p"});
  EXPECT_EQ(catalog.nearest("epyc", CatalogKind::kNic), Names{});
}

std::vector<std::string> errors_of(const char* text) {
  std::vector<CatalogFile> files = catalog_files();
  files.push_back({"more.yaml", text});
  const auto parsed = Catalog::parse(files);
  return parsed ? std::vector<std::string>{} : parsed.error();
}

// An entry that is like another has its cells, as estimates, and its own ones over them.
TEST(Catalog, EntryLikeAnother) {
  const Catalog& catalog = Catalog::built_in();
  const CatalogEntry* entry = nullptr;
  for (const CatalogEntry& each : catalog.entries()) {
    if (each.name == "epyc-7763") entry = &each;
  }
  ASSERT_NE(entry, nullptr);
  const auto row = [&](std::string_view field) {
    return *std::find_if(entry->rows.begin(), entry->rows.end(), [&](const auto& each) { return each.field == field; });
  };
  EXPECT_EQ(row("post_wqe").value, "75 ns");
  EXPECT_EQ(row("post_wqe").source, "as generic-x86");
  EXPECT_EQ(row("post_wqe").tag, "E");
  EXPECT_NE(row("numa").source, "as generic-x86");
  EXPECT_EQ(catalog.host("epyc-7763")->cpus, 256U) << "those of its own layout";
  EXPECT_EQ(errors_of("kind: host\nentries:\n  x1:\n    description: X\n    like: x0\n"),
            Names{"more.yaml:5:11: like: there is no \"x0\" above\n  name an entry of this file that comes first"});
}

TEST(Catalog, ReportsMistakes) {
  const auto gpu =
      errors_of("kind: gpu\nentries:\n  x1:\n    description: X\n    memory: {value: 1 GB, source: \"\", tag: Q}\n");
  EXPECT_NE(fmt::format("{}", fmt::join(gpu, "\n")).find("more.yaml:5:35: an empty source"), std::string::npos);
  EXPECT_NE(fmt::format("{}", fmt::join(gpu, "\n"))
                .find("more.yaml:5:44: tag \"Q\" is not known\n  write one of V, S, R, E, F"),
            std::string::npos);
  EXPECT_NE(fmt::format("{}", fmt::join(gpu, "\n")).find("x1 has no \"gpudirect\""), std::string::npos);
  EXPECT_EQ(
      errors_of("kind: tape\nentries: {}\n"),
      Names{"more.yaml:1:7: kind \"tape\" is not known\n  write one of nic, host, gpu, switch, cable, fec, forwarder"});
  const auto twice = errors_of("kind: host\nentries:\n  dac:\n    description: X\n");
  ASSERT_FALSE(twice.empty());
  EXPECT_EQ(twice[0], "more.yaml:3:3: dac is already in the catalog");
  const auto nothing = Catalog::parse({});  // no cables, no FEC
  ASSERT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.error().front(), "catalog: no cable dac");
}

}  // namespace
}  // namespace weft::lab
