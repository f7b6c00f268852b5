#include "serve/runs/run_routes.h"

#include <fcntl.h>
#include <sys/file.h>

#include "unit/serve/served_run.h"

namespace weft::serve {
namespace {

TEST(RunRoutes, ListsRunsWithTheirHeadline) {
  ServedRuns served;
  served.run("one", kIncastLab);
  served.run("two", kPairLab);
  const auto runs = served.get("/api/runs")["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["id"], "one");
  EXPECT_EQ(runs[0]["lab"], "incast");
  EXPECT_EQ(runs[0]["met"], 1);
  EXPECT_EQ(runs[0]["expectations"], 2);
  const std::string headline = runs[0]["headline"];
  EXPECT_NE(headline.find("1 of 2 expectations not met: incast.fct_max_us"), headline.npos) << headline;
  EXPECT_NE(headline.find("leaf0:swp1"), headline.npos) << headline;
  EXPECT_EQ(headline.find('\n'), headline.npos);
  EXPECT_EQ(runs[1]["state"], "done");
}

TEST(RunRoutes, DescribesOneRun) {
  ServedRuns served;
  const auto results = served.run("one", kIncastLab);
  const auto run = served.get("/api/runs/one");
  EXPECT_EQ(run["why"].size(), 3u);
  EXPECT_EQ(run["end_ps"].get<std::int64_t>() / 1000, results["end_ns"].get<std::int64_t>());
  ASSERT_EQ(run["expect"].size(), 2u);
  EXPECT_EQ(run["expect"][0]["met"], true);
  EXPECT_EQ(run["expect"][1]["met"], false);
  EXPECT_EQ(run["workloads"][0]["name"], "incast");
  EXPECT_EQ(run["has"]["series"], true);
  EXPECT_EQ(run["has"]["packets"], false);
  EXPECT_EQ(run["has"]["switches"], true);
  ASSERT_FALSE(run["links"].empty());
  EXPECT_TRUE(run["links"][0]["parameters"].contains("at"));
  EXPECT_EQ(served.get("/api/runs/one/lab")["text"], kIncastLab);
  EXPECT_EQ(served.ask("/api/runs/none").status, 404);
  EXPECT_EQ(served.ask("/api/runs/..~one").status, 404);
}

TEST(RunRoutes, RunThatIsBeingWrittenIsLeftAlone) {
  ServedRuns served;
  served.run("one", kPairLab);
  const int fd = open(served.directory("one").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(served.ask("/api/runs/one/fabric").status, 409);
  EXPECT_EQ(served.ask("/api/runs/one", {}, "DELETE").status, 409);
  close(fd);
  EXPECT_EQ(served.ask("/api/runs/one/fabric").status, 200);
  EXPECT_EQ(served.ask("/api/runs/one", {}, "DELETE").status, 200);
  EXPECT_FALSE(std::filesystem::exists(served.directory("one")));
  EXPECT_EQ(served.ask("/api/runs/one", {}, "DELETE").status, 404);
}

constexpr const char* kEveryRoute[] = {
    "",       "/lab",           "/fabric", "/activity",    "/series",   "/series/data", "/events",
    "/flows", "/flows/summary", "/paths",  "/nodes/leaf0", "/findings", "/explain"};

TEST(RunRoutes, DamagedFilesAreSaid) {
  ServedRuns served;
  served.run("one", kIncastLab);
  const std::string path = served.directory("one") + "/results.sqlite";
  const std::string whole = *read_file(path, 1 << 28);
  const auto ask_all = [&](const std::string& what) {
    for (const char* route : kEveryRoute) {
      const Response response =
          served.ask(std::string("/api/runs/one") + route, {{"match", "*"}, {"flows", "incast/0"}});
      EXPECT_TRUE(response.status == 200 || response.status == 422 || response.status == 500) << what << route;
      EXPECT_FALSE(nlohmann::json::parse(response.body, nullptr, false).is_discarded()) << what << route;
    }
    EXPECT_EQ(served.ask("/api/runs").status, 200);
  };
  std::ofstream(path, std::ios::binary) << "this is no database";
  EXPECT_EQ(served.ask("/api/runs/one/flows").status, 422);
  ask_all("text ");
  std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() / 2);
  ask_all("half ");
  for (std::size_t at = 100; at < whole.size(); at += whole.size() / 24) {
    std::string damaged = whole;
    for (std::size_t i = at; i < std::min(at + 700, damaged.size()); ++i)
      damaged[i] = static_cast<char>(damaged[i] * 7 + 13);
    std::ofstream(path, std::ios::binary) << damaged;
    ask_all("damaged at " + std::to_string(at) + " ");
  }
  std::ofstream(path, std::ios::binary) << whole;
  std::ofstream(served.directory("one") + "/results.json") << "{\"ports\": 3, \"switches\": [7";
  ask_all("json ");
  EXPECT_EQ(served.ask("/api/runs/one/fabric").status, 200);
}

TEST(RunRoutes, StudyHasNoStore) {
  ServedRuns served;
  std::filesystem::create_directories(served.directory("study"));
  std::ofstream(served.directory("study") + "/results.json") << R"({"lab": "incast", "seeds": [1, 2, 3]})";
  EXPECT_EQ(served.get("/api/runs")["runs"][0]["study"], "seeds");
  EXPECT_EQ(served.get("/api/runs/study")["lab"], "incast");
  EXPECT_EQ(served.ask("/api/runs/study/fabric").status, 422);
}

}  // namespace
}  // namespace weft::serve
