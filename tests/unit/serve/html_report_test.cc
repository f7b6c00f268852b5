#include "serve/html_report.h"

#include <algorithm>

#include "serve/http/page_files.h"
#include "unit/serve/served_run.h"

namespace weft::serve {
namespace {

// What stands between <script>window.WEFT_REPORT = and ;</script>.
nlohmann::json data_of(const std::string& html) {
  const std::string start = "<script>window.WEFT_REPORT = ";
  const std::size_t from = html.find(start);
  const std::size_t to = html.find(";</script>", from);
  if (from == html.npos || to == html.npos) return {};
  return nlohmann::json::parse(html.substr(from + start.size(), to - from - start.size()), nullptr, false);
}

TEST(HtmlReport, EscapesEndOfScript) {
  EXPECT_EQ(json_in_script(R"({"a": "</script><!--"})"), R"({"a": "\u003c/script>\u003c!--"})");
  EXPECT_EQ(code_in_script("a='</script>'+'<script>'+`<!---->`;b<c"),
            "a='\\x3c/script>'+'\\x3cscript>'+`\\x3c!---->`;b<c");
}

TEST(HtmlReport, HasAnswersOfServer) {
  if (find_page_file("index.html") == nullptr) GTEST_SKIP() << "built without the page";
  ServedRuns runs;
  runs.run("a", std::string("# </script><script>alert(1)</script>\n") + kIncastLab);
  const auto report = html_report(runs.directory("a"), 20'000'000);
  ASSERT_TRUE(report) << report.error();
  EXPECT_LT(report->html.size(), 5'000'000U);
  EXPECT_EQ(report->html.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(report->html.find("src=\"/"), std::string::npos);
  EXPECT_EQ(report->html.find("href=\"/"), std::string::npos);
  const nlohmann::json data = data_of(report->html);
  ASSERT_TRUE(data.is_object());
  for (const char* path : {"/fabric", "/flows", "/flows/summary", "/findings", "/lab", "/nodes/h0"}) {
    const nlohmann::json& answer = data["/api/runs/run" + std::string(path)];
    EXPECT_EQ(answer, runs.get("/api/runs/a" + std::string(path))) << path;
  }
  EXPECT_EQ(data["/report"]["name"], "a");
  EXPECT_EQ(data["/report"]["directory"], runs.directory("a"));
  EXPECT_EQ(data["/api/runs/run"]["headline"], runs.get("/api/runs/a")["headline"]);
  // Every series that it lists has data.
  // Counters as they are counted: the page makes rates of them, as of the server's.
  const nlohmann::json& series = data["/api/runs/run/series/data"]["series"];
  EXPECT_FALSE(series.empty());
  EXPECT_EQ(series.size(), data["/api/runs/run/series"]["series"].size());
  for (const nlohmann::json& each : series) {
    EXPECT_LE(each["t_ps"].size(), kReportPoints);
    if (!each["id"].get<std::string>().ends_with("tx_bytes")) continue;
    EXPECT_EQ(each["unit"], "B");
    EXPECT_TRUE(std::is_sorted(each["max"].begin(), each["max"].end())) << each["id"];
  }
}

TEST(HtmlReport, IsBounded) {
  if (find_page_file("index.html") == nullptr) GTEST_SKIP() << "built without the page";
  ServedRuns runs;
  runs.run("a", kIncastLab);
  const auto small = html_report(runs.directory("a"), 30'000), large = html_report(runs.directory("a"), 20'000'000);
  ASSERT_TRUE(small && large);
  EXPECT_FALSE(small->left_out.empty());
  EXPECT_LT(small->html.size() + 100'000, large->html.size());
  EXPECT_EQ(data_of(small->html)["/report"]["left_out"].size(), small->left_out.size());
}

TEST(HtmlReport, SaysWhatIsNoRun) {
  if (find_page_file("index.html") == nullptr) GTEST_SKIP() << "built without the page";
  EXPECT_FALSE(html_report("/nowhere", 1'000'000));
  ServedRuns runs;
  runs.run("run", kPairLab);
  EXPECT_FALSE(html_report(std::filesystem::path(runs.directory("run")).parent_path().string(), 1'000'000));
}

}  // namespace
}  // namespace weft::serve
