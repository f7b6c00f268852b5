#include "gear/choose/choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "catalog/catalog.h"
#include "gear/choose/transport.h"

namespace weft::gear {
namespace {

ChooseOptions asked(const std::string& kind, const std::string& need) {
  ChooseOptions options;
  options.kind = kind;
  auto needs = parse_needs(need, kind);
  EXPECT_TRUE(needs) << needs.error().message;
  options.needs = std::move(*needs);
  return options;
}

std::vector<std::string> fitting(const ChooseOptions& options) {
  std::vector<std::string> names;
  for (const Choice& choice : choose(Market::built_in(), options)) {
    if (choice.count(Answer::kNo) == 0 && choice.count(Answer::kUnknown) == 0) names.push_back(choice.device->name);
  }
  return names;
}

const Choice& of(const std::vector<Choice>& choices, const std::string& name) {
  return *std::find_if(choices.begin(), choices.end(), [&](const Choice& c) { return c.device->name == name; });
}

bool among(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Every row of the list is sound, and every model that it names is in the catalog.
TEST(Choose, MarketListIsSound) {
  const Market& market = Market::built_in();
  EXPECT_GE(market.of_kind("switch").size(), 32u);
  EXPECT_GE(market.of_kind("nic").size(), 18u);
  for (const MarketDevice& device : market.devices()) {
    const std::string_view model = device.value("model");
    EXPECT_TRUE(model.empty() || lab::Catalog::built_in().entry(model) != nullptr) << device.name << " " << model;
    for (const MarketRow& row : device.rows) EXPECT_FALSE(row.source.empty() || row.date.empty()) << device.name;
  }
}

// The models that [homelab] recommends are those that its criteria leave: SONiC, tens of MB of buffer, telemetry.
TEST(Choose, SeedSwitchTable) {
  ChooseOptions options = asked("switch", "homelab");
  options.budget_USD = 4500;
  const auto names = fitting(options);
  for (const char* name : {"AS7726-32X", "SN3700C", "AS7326-56X"}) EXPECT_TRUE(among(names, name)) << name;
  for (const char* name : {"CRS504-4XQ-IN", "SN2700", "SN5600", "FS-N9600-64OD"})
    EXPECT_FALSE(among(names, name)) << name;
  // Used prices as in its table.
  const Market& market = Market::built_in();
  EXPECT_EQ((*market.find("as7726-32x"))->value("price_used_USD"), "2800");
  EXPECT_EQ((*market.find("SN3700C"))->value("price_used_USD"), "4500");
  EXPECT_EQ((*market.find("AS7326-56X"))->value("price_used_USD"), "1000-2000");
}

TEST(Choose, SaysWhatEachCannotDo) {
  const auto choices = choose(Market::built_in(), asked("switch", "roce, int, 100G>=8"));
  const Choice& crs504 = of(choices, "CRS504-4XQ-IN");
  for (const char* lack : {"packet trimming", "INT", "WJH", "small buffer (4 to 8 MB)"})
    EXPECT_TRUE(among(crs504.cannot, lack)) << lack;
  EXPECT_EQ(crs504.count(Answer::kNo), 2u);  // INT, and four ports
  EXPECT_TRUE(among(of(choices, "SN3700C").cannot, "INT"));
  EXPECT_FALSE(among(of(choices, "SN3700C").cannot, "WJH"));
  EXPECT_EQ(choices.front().count(Answer::kNo), 0u);
}

// Switches that trim cost tens of thousands and do not run on 100 V 15 A with 64 optics.
TEST(Choose, HouseholdCircuit) {
  const Market& market = Market::built_in();
  const auto japan = parse_circuit("100 V 15 A", market);
  ASSERT_TRUE(japan);
  EXPECT_DOUBLE_EQ(japan->continuous_W(), 1200);
  EXPECT_DOUBLE_EQ(parse_circuit("us", market)->continuous_W(), 1440);
  EXPECT_DOUBLE_EQ(parse_circuit("eu", market)->continuous_W(), 2944);
  ChooseOptions options = asked("switch", "");
  options.circuit = *japan;
  const auto choices = choose(market, options);
  EXPECT_EQ(of(choices, "N9364E-SG2").count(Answer::kNo), 1u);
  EXPECT_EQ(of(choices, "Z9332F-ON").count(Answer::kNo), 1u);  // 200 to 240 V
  EXPECT_EQ(of(choices, "AS7726-32X").count(Answer::kYes), 1u);
  EXPECT_EQ(of(choices, "SN5600").count(Answer::kNo), 1u);  // 940 W with copper, 2,200 W with 64 optics
  EXPECT_EQ(of(choices, "FS-N9600-64OD").count(Answer::kNo), 1u);
  EXPECT_EQ(of(choices, "SN4600C").count(Answer::kUnknown), 1u);  // 466 W typical: between 746 and 1,258 W
  EXPECT_EQ(of(choices, "SN2010").count(Answer::kYes), 1u);
  EXPECT_NE(of(choices, "AS7726-32X").circuit.find("2 of these at 500 W at most"), std::string::npos);
  for (const char* bad : {"", "V A", "100 V", "x V 1 A", "100 V 15 A more", "-1 V 5 A", "1e9 V 5 A"})
    EXPECT_FALSE(parse_circuit(bad, market)) << bad;
}

// What is known to fit comes before what may fit, and that before what does not.
TEST(Choose, RanksKnownBeforeUnknown) {
  for (const char* need : {"", "roce", "homelab", "roce, int, 100G>=8", "400G>=8", "trimming"}) {
    ChooseOptions options = asked("switch", need);
    options.budget_USD = 3000;
    options.watts = 800;
    options.noise_dBA = 60;
    options.circuit = parse_circuit("100 V 15 A", Market::built_in()).value();
    int before = 0;
    for (const Choice& choice : choose(Market::built_in(), options)) {
      const int now = choice.count(Answer::kNo) > 0 ? 2 : choice.count(Answer::kUnknown) > 0 ? 1 : 0;
      EXPECT_LE(before, now) << need << ": " << choice.device->name;
      before = now;
    }
  }
}

// A number stands in one place: what the catalog says of a model's price, watts and noise is the market's row.
TEST(Choose, CatalogShowsMarketRows) {
  const lab::Catalog& catalog = lab::Catalog::built_in();
  const Market& market = Market::built_in();
  std::size_t bridged = 0;
  for (std::string_view name : catalog.names(lab::CatalogKind::kSwitch)) {
    SCOPED_TRACE(name);
    const auto device = market.find(name);
    ASSERT_TRUE(device);
    const lab::CatalogEntry& entry = *catalog.entry(name);
    for (const lab::CatalogRow& row : entry.rows)
      EXPECT_EQ((*device)->row(row.field == "ports" ? "-" : row.field), nullptr);
    const std::string text = catalog_show_text(entry, market);
    for (const char* field : {"power_max_W", "noise_dBA"})
      EXPECT_NE(text.find(fmt::format("{:<17} {}", field, (*device)->value(field))), std::string::npos) << field;
    bridged += memory_text(**device).find("MB as sold") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(bridged, catalog.names(lab::CatalogKind::kSwitch).size());
  EXPECT_EQ(memory_text(**market.find("sn3700c")).substr(0, 85),
            "42 MB as sold, 34.3 MB that the chip can use, 14.5 MB of it in the pool that lossless");
}

TEST(Choose, NoiseAndWatts) {
  ChooseOptions options = asked("switch", "roce, 100G>=4");
  options.noise_dBA = 50;
  options.watts = 100;
  EXPECT_EQ(fitting(options), std::vector<std::string>{"CRS504-4XQ-IN"});
}

TEST(Choose, GpusForRdma) {
  ChooseOptions options = asked("gpu", "gpudirect, memory>=32GB");
  options.budget_USD = 1000;
  EXPECT_EQ(fitting(options), std::vector<std::string>{"MI100"});
  EXPECT_TRUE(among(of(choose(Market::built_in(), options), "RTX-3090").cannot, "GPUDirect RDMA"));
}

TEST(Choose, NicsByPortsAndFeatures) {
  EXPECT_TRUE(among(fitting(asked("nic", "200G>=2, roce")), "CX7"));
  EXPECT_FALSE(among(fitting(asked("nic", "400G>=2")), "CX7"));  // one port of 400G, or two of 200G
  EXPECT_EQ(fitting(asked("nic", "uec")), std::vector<std::string>{"Pollara-400"});
  EXPECT_FALSE(among(fitting(asked("nic", "roce")), "Chelsio-T6"));
}

TEST(Choose, RoceOrInfiniband) {
  EXPECT_EQ(advise_transport({.gpus = 1024}).choice(), "RoCEv2");
  EXPECT_EQ(advise_transport({.gpus = 9999}).choice(), "RoCEv2");
  EXPECT_EQ(advise_transport({.gpus = 10'000}).choice(), "InfiniBand");
  EXPECT_EQ(advise_transport({.gpus = 24'000, .mixed = true}).choice(), "RoCEv2");
  EXPECT_EQ(advise_transport({.gpus = 24'000, .small_budget = true}).choice(), "RoCEv2");
  EXPECT_FALSE(advise_transport({.gpus = 8}).reasons.empty());
}

TEST(Choose, NeedsAreChecked) {
  const auto remedy = [](const char* need, const char* kind) {
    const auto needs = parse_needs(need, kind);
    return needs ? std::string("taken") : needs.error().remedy;
  };
  EXPECT_NE(remedy("trimmng", "switch").find("did you mean trimming?"), std::string::npos);
  EXPECT_NE(remedy("roce,,int", "switch").find("100G>=8"), std::string::npos);
  for (const char* bad : {"100G>=", "G>=4", "100G>=x", "0G>=4", "buffer>=x", "memory>=4GB", ">=", "100G>=99999999999"})
    EXPECT_NE(remedy(bad, "switch"), "taken") << bad;
  EXPECT_EQ(remedy("100G>=8, buffer>=40MB, wjh", "switch"), "taken");
}

TEST(Choose, OwnPricesReplaceOurs) {
  Market market = Market::built_in();
  const auto own = Market::parse(
      "device,kind,field,value,tag,source,date\nSN3700C,switch,price_used_USD,900,V,\"invoice, 1\",2026-11-18\n",
      "own.csv");
  ASSERT_TRUE(own) << own.error().message;
  market.merge(*own);
  EXPECT_EQ(price_text(**market.find("sn3700c")), "900 USD used");
  EXPECT_FALSE((*market.find("SN3700C"))->value("asic").empty() && (*market.find("SN3700C"))->value("ports").empty());
}

TEST(Choose, MistakesInPricesHaveTheirLine) {
  const std::string head = "device,kind,field,value,tag,source,date\n";
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"a,b\n", "own.csv:1: 2 columns, not 7"},
      {"x,kind,field,value,tag,source,date\n", "own.csv:1: the names of the columns"},
      {head + "a,switch,ports,1x100G,V,s\n", "own.csv:2: 6 columns, not 7"},
      {head + "a,switch,ports,100G,V,s,d\n", "own.csv:2: ports: 100G is not as in"},
      {head + "a,swich,ports,1x100G,V,s,d\n", "own.csv:2: swich is no kind of device"},
      {head + "a,switch,price_used_USD,cheap,V,s,d\n", "own.csv:2: price_used_USD: cheap is no number"},
      {head + "a,switch,price_used_USD,9-1,V,s,d\n", "is no number or range"},
      {head + "a,switch,ports,1x100G,X,s,d\n", "own.csv:2: tag X"},
      {head + "a,switch,ports,\"1x100G,V,s,d\n", "own.csv:2: a quote is not closed"},
      {head, "own.csv: no devices"},
  };
  for (const auto& each : cases) {
    const auto market = Market::parse(each.text, "own.csv");
    ASSERT_FALSE(market) << each.message;
    EXPECT_NE(market.error().message.find(each.message), std::string::npos) << market.error().message;
  }
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string text = head + "a,switch,ports,\"1x100G, 2x25G or 4x50G\",V,s,d\n";
    for (int i = 0; i < 4; ++i) {
      const std::size_t at = random() % text.size();
      text[at] = static_cast<char>(random() % 128);
    }
    (void)Market::parse(text, "x");
  }
}

TEST(Choose, ExplainsWithSources) {
  const Market& market = Market::built_in();
  const auto device = market.find("sn3700c");
  ASSERT_TRUE(device);
  const std::string text = explain_text(**device, market);
  EXPECT_NE(text.find("price_used_USD    4500  [S]"), std::string::npos) << text;
  EXPECT_NE(text.find("in a lab: sn3700c"), std::string::npos);
  EXPECT_NE(text.find("circuit-JP: 100 V 15 A carries 1200 W"), std::string::npos);
  EXPECT_EQ(market.find("sn3700d").error().remedy.substr(0, 12), "did you mean");
}

}  // namespace
}  // namespace weft::gear
