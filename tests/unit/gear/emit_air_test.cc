// NVIDIA Air: the keys of its JSON, and back.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gear/import/clab.h"
#include "support/gear_labs.h"

namespace weft::gear {
namespace {

TEST(EmitAir, WritesNodesAndLinks) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const auto file = nlohmann::json::parse(support::file_of(support::emitted(lab, "air"), "clos-2x4.air.json"));
  EXPECT_EQ(file["format"], "JSON");
  EXPECT_EQ(file["title"], "clos-2x4");
  EXPECT_TRUE(file["ztp"].is_null());
  EXPECT_EQ(file["content"]["nodes"].size(), lab.hosts.size() + lab.switches.size());
  EXPECT_TRUE(file["content"]["nodes"]["leaf0"]["os"].get<std::string>().starts_with("cumulus-vx-"));
  EXPECT_EQ(file["content"]["nodes"]["h0"]["memory"], 2048);
  ASSERT_EQ(file["content"]["links"].size(), lab.links.size());
  EXPECT_EQ(file["content"]["links"][0],
            nlohmann::json::parse(R"([{"interface": "eth1", "node": "h0"}, {"interface": "swp1", "node": "leaf0"}])"));
}

// Machines of a host and gear without an image there are named.
TEST(EmitAir, SaysWhatAirLacks) {
  const auto emission = support::emitted(support::gear_lab_file("labs/fabric/small-buffer-crs504.yaml"), "air");
  EXPECT_TRUE(std::any_of(emission.notes.begin(), emission.notes.end(), [](const EmitNote& note) {
    return note.message == "it is Cumulus VX in Air: crs504 has no image there";
  }));
  const auto vms = support::emitted(support::gear_lab_file("labs/two-vms-one-host.yaml"), "air");
  const auto file = nlohmann::json::parse(vms.files[0].text);
  EXPECT_EQ(file["content"]["nodes"].size(), 1u);
}

TEST(ImportAir, RoundTripsTopology) {
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const auto imported = import_clab(support::file_of(support::emitted(lab, "air"), "clos-2x4.air.json"), {});
  ASSERT_TRUE(imported.has_value()) << imported.error()[0].message;
  const auto again = support::gear_lab(imported->lab);
  ASSERT_EQ(again.switches.size(), lab.switches.size());
  EXPECT_EQ(again.hosts.size(), lab.hosts.size());
  EXPECT_EQ(again.name, "clos-2x4");
  ASSERT_EQ(again.links.size(), lab.links.size());
  for (std::size_t i = 0; i < lab.links.size(); ++i) {
    if (!lab.links[i].a.is_switch() || !lab.links[i].b.is_switch()) continue;
    EXPECT_EQ(port_name(again, again.links[i].a), port_name(lab, lab.links[i].a));
    EXPECT_EQ(port_name(again, again.links[i].b), port_name(lab, lab.links[i].b));
  }
}

TEST(ImportAir, ReportsHostileInput) {
  for (const char* text : {R"({"content": {}})", R"({"content": {"nodes": {"a": {"os": "x"}}, "links": [[1, 2]]}})",
                           R"({"content": {"nodes": {"a": {}}, "links": [[{"node": "b", "interface": "c"}]]}})",
                           R"({"content": {"nodes": [], "links": []}})", "{\"content\": ["}) {
    const auto imported = import_clab(text, {});
    ASSERT_FALSE(imported.has_value()) << text;
    EXPECT_GT(imported.error()[0].line, 0);
  }
}

}  // namespace
}  // namespace weft::gear
