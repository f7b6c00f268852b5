// The tables of docs/lab-file.md are made from the rows, and its examples work.

#include "labfile/lab_fields.h"
#include "model/metrics.h"
#include "model/qos_words.h"
#include "model/workload_metrics.h"
#include "support/matching.h"
#include "text/schema.h"
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

const std::string& page() {
  static const std::string text = read_source_file("docs/lab-file.md");
  return text;
}
void expect_documented(std::string_view word) {
  EXPECT_NE(page().find(fmt::format("`{}`", word)), std::string::npos) << word << " is not in docs/lab-file.md";
}
// Their tables are made: `make docs`.
TEST(Docs, TablesAreThoseOfRows) {
  const auto made = with_key_tables(page(), kLabKeys);
  ASSERT_TRUE(made) << made.error();
  EXPECT_TRUE(*made == page()) << "run make docs";
}

TEST(Docs, ExplainEveryWord) {
  for (const auto& word : cable_words()) expect_documented(word.text);
  for (const auto& word : fec_words()) expect_documented(word.text);
  for (const auto& word : profile_words()) expect_documented(word.text);
  for (std::string_view test : kPerftestWords) expect_documented(test);
  workload::for_each_kind([](auto kind) {
    for (std::string_view metric : known_metrics(kind)) expect_documented(metric);
  });
}

TEST(Docs, ListEveryCounter) {
  for (const std::string& counter : counted_counters())
    expect_documented(test::replaced(counter, "prio[0-7]", "prioN"));
}

TEST(Docs, ExamplesWork) {
  std::vector<std::string> blocks;
  const std::string_view fence = "```yaml\n";
  for (std::size_t at = page().find(fence); at != std::string::npos; at = page().find(fence, at + 1)) {
    const std::size_t start = at + fence.size();
    blocks.push_back(page().substr(start, page().find("```", start) - start));
  }
  ASSERT_EQ(blocks.size(), 12U);
  EXPECT_EQ(read_good(blocks[0]).workloads.size(), 1U);
  EXPECT_EQ(read_good(blocks[1]).switches.size(), 6U);
  EXPECT_EQ(read_good(blocks[2]).hosts[3].nics[0].function->number, 2U);
  EXPECT_EQ(read_good(good_lab_with("    kind: host\n", "    kind: host\n" + blocks[3])).hosts[0].places.gpus.size(),
            1U);
  EXPECT_EQ(read_good(blocks[4]).hosts.size(), 2U) << "one of them is outside";
  EXPECT_EQ(read_good(blocks[5]).switches.size(), 1U);
  EXPECT_EQ(read_good(blocks[1] + blocks[6]).warnings.size(), 0U);
  EXPECT_EQ(read_good(blocks[1] + blocks[7]).mirrors.size(), 2U);
  EXPECT_EQ(read_good(blocks[0] + blocks[8]).faults.size(), 4U);
  const std::string hosts = blocks[0].substr(0, blocks[0].find("workloads:"));
  EXPECT_EQ(read_good(hosts + blocks[9]).workloads.at(0).as<workload::FlowOptions>()->dependencies.size(), 3U);
  EXPECT_EQ(read_good(hosts + blocks[10]).workloads.at(0).as<workload::ProgramOptions>()->programs.size(), 2U);
  constexpr std::string_view kGpuHosts = R"(version: 1
name: gpus
fabric: {template: single-switch, hosts: 4, switch: sn5600, host: {nic: cx7-400g, host: dgx-h100, gpus: h100-sxm}}
)";
  EXPECT_EQ(read_good(std::string(kGpuHosts) + blocks[11]).workloads.at(0).as<workload::JobOptions>()->ranks.size(),
            32U);
}

}  // namespace
}  // namespace weft::lab
