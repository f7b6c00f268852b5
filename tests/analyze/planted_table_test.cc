// docs/analyze.md has the matrix as a table, and it is the one of the code. Every check has a planted fault.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "analyze/doc_examples.h"
#include "analyze/findings/finding.h"
#include "analyze/planted_case.h"
#include "support/bytes.h"
#include "support/matching.h"

namespace weft::planted {
namespace {

std::string list(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& each : ids) text += (text.empty() ? "`" : ", `") + each + "`";
  return text;
}

std::string how(const PlantedCase& row) {
  if (row.lab.empty()) return "by hand";
  return row.edit == nullptr && row.edit_file == nullptr ? "lab" : "edited";
}

std::string table() {
  std::string text = "| capture | what is planted | made | named first | with it |\n|---|---|---|---|---|\n";
  for (const PlantedCase& row : all_planted_faults())
    text +=
        "| " + row.name + " | " + row.fault + " | " + how(row) + " | `" + row.first + "` | " + list(row.found) + " |\n";
  text += "\n| healthy capture | what it is | made | notes |\n|---|---|---|---|\n";
  for (const PlantedCase& row : healthy_captures())
    text += "| " + row.name + " | " + row.fault + " | " + how(row) + " | " + list(row.found) + " |\n";
  return text;
}

TEST(PlantedTable, SameInDocs) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/docs/analyze.md";
  std::string docs = support::read_file(path);
  const std::size_t begin = docs.find("| capture | what is planted |"),
                    end = docs.find("\n\nEvery kind of finding", begin);
  ASSERT_NE(end, docs.npos);
  const std::string found = docs.substr(begin, end + 1 - begin);
  if (std::getenv("WEFT_REGENERATE") != nullptr) std::ofstream(path) << docs.replace(begin, found.size(), table());
  EXPECT_EQ(found, table()) << "WEFT_REGENERATE=1 writes it anew";
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

// Each page of a check shows what the command prints of a capture of the matrix; planted_matrix_test compares it.
TEST(PlantedTable, PagesShowOnlyComparedExamples) {
  std::set<std::string> rows;
  std::map<std::string, std::size_t> examples;  // by file
  for (const PlantedCase& row : all_planted_faults()) rows.insert(row.name);
  for (const DocExample& example : doc_examples()) {
    EXPECT_TRUE(rows.contains(example.row)) << example.file << ": no row " << example.row;
    ++examples[example.file];
  }
  for (const analyze::CheckName& check : analyze::check_names()) {
    const std::string file = "docs/checks/" + std::string(check.name) + ".md";
    EXPECT_GE(examples[file], 1u) << file << " has no block behind <!-- example: ROW CHECK.KIND -->";
    const std::string text = support::read_file(std::string(WEFT_SOURCE_DIR) + "/" + file);
    EXPECT_EQ(test::matches(text, "\n```").size(), 2 * examples[file]) << file << " has a block that is not compared";
  }
}

// A finding of a kind that the table has not ends the program: every name in the sources is one of the table.
TEST(PlantedTable, NamesInSourcesExist) {
  std::set<std::string> kinds, checks;
  for (const analyze::FindingKind& kind : analyze::finding_kinds()) kinds.insert(std::string(kind.id));
  for (const analyze::CheckName& check : analyze::check_names()) checks.insert(std::string(check.name));
  std::size_t names = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(WEFT_SOURCE_DIR) + "/src/analyze")) {
    if (!entry.is_regular_file()) continue;
    const std::string text = support::read_file(entry.path().string());
    for (const std::string& id : test::matches(text, "\"([a-z0-9-]+\\.[a-z0-9-]+)\"", 1)) {
      if (!checks.contains(id.substr(0, id.find('.')))) continue;
      ++names;
      EXPECT_TRUE(kinds.contains(id)) << entry.path() << ": " << id;
    }
  }
  EXPECT_GT(names, 100u);
}

// planted_matrix_test sees to it that what a row names is found in its capture. A kind that no row names would be
// tested by nothing but hand-made frames, or not at all.
TEST(PlantedTable, CoversAllKinds) {
  std::set<std::string> planted;
  for (const auto& rows : {all_planted_faults(), healthy_captures()}) {
    for (const PlantedCase& row : rows) {
      planted.insert(row.first);
      planted.insert(row.found.begin(), row.found.end());
    }
  }
  // What no single capture of one moment can show (two files, counters beside it, silent ports, a whole retry): a unit
  // test that names it.
  const std::map<std::string, std::string> made_by_unit_tests = {
      {"capture.clocks", "driver_test.cc"},
      {"path-entropy.single-path", "path_entropy_test.cc"},
      {"path-entropy.estimate", "path_entropy_test.cc"},
      {"connection-setup.timeout", "cm_check_test.cc"},
      {"counters.elsewhere", "counters_check_test.cc"},
  };
  for (const auto& [kind, file] : made_by_unit_tests) {
    std::ifstream source(std::string(WEFT_SOURCE_DIR) + "/tests/unit/analyze/" + file);
    const std::string text(std::istreambuf_iterator<char>(source), {});
    EXPECT_NE(text.find("\"" + kind + "\""), std::string::npos) << file << " does not name " << kind;
    planted.insert(kind);
  }
  for (const analyze::FindingKind& kind : analyze::finding_kinds())
    EXPECT_TRUE(planted.contains(std::string(kind.id))) << "no row of the matrix makes " << kind.id;
}

}  // namespace
}  // namespace weft::planted
