// docs/analyze.md has the matrix as a table, and it is the one of the code. Every check has a planted fault.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "analyze/finding.h"
#include "analyze/planted_case.h"
#include "support/bytes.h"

namespace weft::planted {
namespace {

std::string list(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& each : ids) text += (text.empty() ? "`" : ", `") + each + "`";
  return text;
}

std::string how(const PlantedCase& row) {
  if (row.lab.empty()) return "by hand";
  return row.edit == nullptr && row.cut_file_B == 0 ? "lab" : "edited";
}

std::string table() {
  std::string text = "| capture | what is planted | made | named first | with it |\n|---|---|---|---|---|\n";
  for (const PlantedCase& row : all_planted_faults())
    text +=
        "| " + row.name + " | " + row.fault + " | " + how(row) + " | `" + row.first + "` | " + list(row.found) + " |\n";
  text += "\n| healthy capture | what it is | made |\n|---|---|---|\n";
  for (const PlantedCase& row : healthy_captures())
    text += "| " + row.name + " | " + row.fault + " | " + how(row) + " |\n";
  return text;
}

TEST(PlantedTable, SameInDocs) {
  const std::string docs = support::read_file(std::string(WEFT_SOURCE_DIR) + "/docs/analyze.md");
  EXPECT_NE(docs.find(table()), docs.npos) << "docs/analyze.md needs this table:\n" << table();
}

TEST(PlantedTable, CoversAllChecks) {
  std::set<std::string> planted, names;
  for (const PlantedCase& row : all_planted_faults()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    std::vector<std::string> ids = row.found;
    ids.push_back(row.first);
    for (const std::string& id : ids) {
      analyze::rank_of(id);  // a kind that exists
      planted.insert(id.substr(0, id.find('.')));
    }
    for (const std::string& id : row.also) analyze::rank_of(id);
  }
  for (const analyze::CheckName& check : analyze::check_names())
    EXPECT_TRUE(planted.contains(std::string(check.name))) << "no planted fault for " << check.name;
  EXPECT_GE(all_planted_faults().size(), 40u);
  EXPECT_GE(healthy_captures().size(), 20u);
}

// A finding of a kind that the table has not ends the program: every name in the sources is one of the table.
TEST(PlantedTable, NamesInSourcesExist) {
  std::set<std::string> kinds, checks;
  for (const analyze::FindingKind& kind : analyze::finding_kinds()) kinds.insert(std::string(kind.id));
  for (const analyze::CheckName& check : analyze::check_names()) checks.insert(std::string(check.name));
  const std::regex name("\"([a-z0-9-]+)\\.([a-z0-9-]+)\"");
  std::size_t names = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(WEFT_SOURCE_DIR) + "/src/analyze")) {
    const std::string text = support::read_file(entry.path().string());
    for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) {
      if (!checks.contains((*it)[1])) continue;
      ++names;
      EXPECT_TRUE(kinds.contains((*it)[1].str() + "." + (*it)[2].str())) << entry.path() << ": " << it->str();
    }
  }
  EXPECT_GT(names, 100u);
}

// Findings, not notes; docs/analyze.md names those that no row plants.
TEST(PlantedTable, KindsWithoutPlantedFault) {
  std::set<std::string_view> planted;
  const std::vector<PlantedCase> rows = all_planted_faults();
  for (const PlantedCase& row : rows) {
    planted.insert(row.first);
    planted.insert(row.found.begin(), row.found.end());
  }
  const std::set<std::string_view> not_planted = {"capture.damaged", "traffic-class.rewritten", "psn.spurious"};
  for (const analyze::FindingKind& kind : analyze::finding_kinds())
    if (kind.severity != analyze::Severity::kNote)
      EXPECT_NE(planted.contains(kind.id), not_planted.contains(kind.id)) << kind.id;
}

}  // namespace
}  // namespace weft::planted
