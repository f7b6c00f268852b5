#include "serve/metrics_routes.h"

#include "unit/serve/served_run.h"

namespace weft::serve {
namespace {

class MetricsRoutes : public testing::Test {
 protected:
  MetricsRoutes() { add_metrics_routes(router_, place_, cache_, list_, {"1.2", &tasks_, &hub_}); }
  Response ask(std::map<std::string, std::string> query = {}) const {
    return router_.answer({"GET", "/metrics", std::move(query), {}, "", {}});
  }
  ServedRuns runs_;
  RunPlace place_{std::filesystem::path(runs_.directory("x")).parent_path().string()};
  AnswerCache cache_;
  RunList list_{place_};
  EventHub hub_;
  TaskList tasks_{TaskLimits{}, {}};
  Router router_;
};

TEST_F(MetricsRoutes, ServerAloneWithoutRuns) {
  const Response response = ask();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.type.substr(0, 10), "text/plain");
  EXPECT_NE(response.body.find("weft_serve_info{version=\"1.2\"} 1\n"), std::string::npos);
  EXPECT_NE(response.body.find("weft_serve_tasks{state=\"runs\"} 0\n"), std::string::npos);
  EXPECT_NE(response.body.find("weft_serve_runs 0\n"), std::string::npos);
  EXPECT_EQ(response.body.find("weft_run_info"), std::string::npos);
}

TEST_F(MetricsRoutes, NewestRunUnlessNamed) {
  runs_.run("older", kPairLab);
  runs_.run("newer", kIncastLab);
  std::filesystem::last_write_time(runs_.directory("older") + "/results.sqlite",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_NE(ask().body.find("weft_run_info{lab=\"incast\""), std::string::npos);
  const Response named = ask({{"run", "older"}});
  EXPECT_NE(named.body.find("weft_run_info{lab=\"pair\""), std::string::npos);
  EXPECT_NE(named.body.find("node_infiniband_port_data_transmitted_bytes_total{instance=\"h0\""), std::string::npos);
  EXPECT_NE(named.body.find("weft_serve_requests_total{status=\"2xx\"} 1\n"), std::string::npos);
  EXPECT_EQ(named.body.substr(0, named.body.find("# HELP weft_serve_info")),
            ask({{"run", "older"}}).body.substr(0, named.body.find("# HELP weft_serve_info")));
}

TEST_F(MetricsRoutes, RefusesWhatIsNotThere) {
  EXPECT_EQ(ask({{"run", "../x"}}).status, 404);
  EXPECT_EQ(ask({{"world", "no-such-world"}}).status, 404);
  EXPECT_EQ(ask({{"world", "../x"}}).status, 404);
  EXPECT_EQ(ask({{"world", "a"}, {"run", "b"}}).status, 422);
}

}  // namespace
}  // namespace weft::serve
