#include "serve/tasks/task_routes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "serve/http/page_files.h"
#include "serve/tasks/task_request.h"

namespace weft::serve {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A program in the place of weft: writes its arguments into the run's directory.
class TaskRoutes : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("weft-tasks-" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
    program_ = (root_ / "weft").string();
    std::ofstream(program_) << "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$4/results.json\"\n";
    fs::permissions(program_, fs::perms::owner_all);
  }
  void TearDown() override { fs::remove_all(root_); }
  static Request post(const nlohmann::json& body) {
    Request request;
    request.method = "POST";
    request.path = "/api/tasks";
    request.body = body.dump();
    return request;
  }
  Router routes(bool allow_programs = false) {
    Router router;
    add_task_routes(router, place_, tasks_, {program_, allow_programs});
    return router;
  }
  std::string arguments_of(const std::string& run) const {
    for (int i = 0; i < 1000 && !fs::exists(root_ / "runs" / run / "results.json"); ++i)
      std::this_thread::sleep_for(10ms);
    for (int i = 0; i < 1000 && tasks_.is_busy(run); ++i) std::this_thread::sleep_for(10ms);
    std::ifstream file(root_ / "runs" / run / "results.json");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path root_;
  std::string program_;
  EventHub hub_;
  RunPlace place_{(fs::temp_directory_path() / ("weft-tasks-" + std::to_string(getpid())) / "runs").string()};
  RunList runs_{place_};
  TaskList tasks_{TaskLimits{1, 2, 60s, 200ms, 0, 0}, task_observer(hub_, place_, runs_)};
};

TEST_F(TaskRoutes, StartsRunOfReadyLab) {
  const Router router = routes();
  const Response first =
      router.answer(post({{"lab", "first-light.yaml"}, {"seed", "9007199254740993"}, {"set", {"seed=3"}}}));
  ASSERT_EQ(first.status, 202) << first.body;
  const std::string run = nlohmann::json::parse(first.body)["task"]["run"];
  EXPECT_EQ(run, "first-light");
  const std::string directory = (root_ / "runs/first-light").string();
  const std::string words = arguments_of(run);
  EXPECT_TRUE(words.starts_with("run\n" + directory + "/lab.yaml\n--out\n" + directory + "\n--progress\njson\n"))
      << words;
  EXPECT_NE(words.find("\n--set=seed=3\n"), std::string::npos);
  EXPECT_NE(words.find("\n--seed\n9007199254740993\n"), std::string::npos);
  EXPECT_EQ(words.find("--capture"), std::string::npos);
  const Response second = router.answer(post({{"lab", "first-light.yaml"}}));
  EXPECT_EQ(nlohmann::json::parse(second.body)["task"]["run"], "first-light-2");
  arguments_of("first-light-2");
}

TEST_F(TaskRoutes, ListFollowsEveryChange) {
  const Router router = routes();
  const auto states = [&] {
    std::string out;
    const Response response = router.answer({"GET", "/api/tasks", {}, {}, "", {}});
    const auto json = nlohmann::json::parse(response.text());
    for (const auto& task : json["tasks"])
      out += task["run"].get<std::string>() + " " + task["state"].get<std::string>() + ";";
    return out;
  };
  EXPECT_EQ(states(), "");
  ASSERT_EQ(router.answer(post({{"lab", "first-light.yaml"}, {"name", "a"}})).status, 202);
  EXPECT_NE(states(), "");
  arguments_of("a");
  EXPECT_EQ(states(), "a done;");
  ASSERT_EQ(router.answer(post({{"lab", "first-light.yaml"}, {"name", "b"}})).status, 202);
  arguments_of("b");
  EXPECT_EQ(states(), "a done;b done;");
}

TEST_F(TaskRoutes, CapturesHeadersUnlessAskedOtherwise) {
  const Router router = routes();
  EXPECT_EQ(router.answer(post({{"lab", "first-light.yaml"}, {"name", "a"}, {"capture", "all"}})).status, 202);
  EXPECT_NE(arguments_of("a").find("--capture\nall\n--snaplen\n128\n--capture-size\n200000000\n"), std::string::npos);
  EXPECT_EQ(router.answer(post({{"lab", "first-light.yaml"}, {"capture", "nobody:p0"}})).status, 422);
}

TEST_F(TaskRoutes, RefusesWhatIsNoRequest) {
  const Router router = routes();
  const nlohmann::json wrong[] = {nullptr,
                                  42,
                                  nlohmann::json::array(),
                                  {{"lab", 5}},
                                  nlohmann::json::object(),
                                  {{"lab", "first-light.yaml"}, {"text", "x"}},
                                  {{"lab", "first-light.yaml"}, {"name", "../x"}},
                                  {{"lab", "first-light.yaml"}, {"name", "a/b"}},
                                  {{"lab", "first-light.yaml"}, {"set", "x"}},
                                  {{"lab", "first-light.yaml"}, {"seed", -1}},
                                  {{"lab", "first-light.yaml"}, {"seed", "abc"}},
                                  {{"lab", "first-light.yaml"}, {"seed", "18446744073709551616"}},
                                  {{"lab", "first-light.yaml"}, {"seed", ""}},
                                  {{"lab", "first-light.yaml"}, {"kind", "shell"}},
                                  {{"lab", "first-light.yaml"}, {"kind", "sweep"}},
                                  {{"lab", "first-light.yaml"}, {"kind", "sweep"}, {"vary", {{{"path", "a"}}}}},
                                  {{"lab", "first-light.yaml"}, {"set", {std::string("a\0b", 3)}}}};
  for (const nlohmann::json& body : wrong) EXPECT_EQ(router.answer(post(body)).status, 400) << body.dump();
  EXPECT_EQ(router.answer(post({{"lab", "../../etc/passwd"}})).status, 404);
  Request garbage = post({});
  garbage.body = "{\"lab\": \"\xff\"";
  EXPECT_EQ(router.answer(garbage).status, 400);
  // Nesting that would overflow the stack of whoever copies or writes it.
  constexpr std::size_t kDeep = 400'000;
  const std::string nested = std::string(kDeep, '[') + std::string(kDeep, ']');
  for (const char* field : {"seed", "set", "vary"}) {
    garbage.body = "{\"lab\": \"first-light.yaml\", \"" + std::string(field) + "\": " + nested + "}";
    EXPECT_EQ(router.answer(garbage).status, 400) << field;
  }
  EXPECT_FALSE(fs::exists(root_ / "runs"));
}

TEST_F(TaskRoutes, LabErrorsHaveTheirPlace) {
  const Response response = routes().answer(post({{"text", "version: 1\nname: x\nnodez: {}\n"}}));
  EXPECT_EQ(response.status, 422);
  const auto errors = nlohmann::json::parse(response.body)["errors"];
  EXPECT_EQ(errors.back()["line"], 3);
}

TEST_F(TaskRoutes, ProgramsAndFilesNeedPermission) {
  const char* text = "version: 1\nname: x\nnodes: {}\nworkloads: [{name: a, program: [{node: h, command: id}]}]\n";
  EXPECT_EQ(routes().answer(post({{"text", text}})).status, 403);
  EXPECT_EQ(routes(true).answer(post({{"text", text}})).status, 422);
  EXPECT_EQ(routes().answer(post({{"lab", "ai/chakra-zero1.yaml"}})).status, 403);
  const std::string file = "workloads[0]={name: g, flows: matrix, hosts: all, file: /etc/passwd}";
  const Response set = routes().answer(post({{"lab", "first-light.yaml"}, {"set", {file, "expect="}}}));
  EXPECT_EQ(set.status, 403) << set.body;
  EXPECT_EQ(set.body.find("root:"), std::string::npos);
}

// Values of a sweep are judged by the program that runs it, each cell as it is; here it has to be told to.
TEST_F(TaskRoutes, TasksOfClientsAreUntrusted) {
  ASSERT_EQ(routes().answer(post({{"lab", "first-light.yaml"}, {"name", "plain"}})).status, 202);
  EXPECT_NE(arguments_of("plain").find("\n--untrusted\n"), std::string::npos);
  const nlohmann::json vary = {{{"path", "workloads[lat]"},
                                {"values",
                                 {"name: other\nperftest: write_lat\nclient: vm00\nserver: vm01",
                                  "name: lat\nprogram:\n  - node: vm00\n    script: id"}}}};
  const Response sweep = routes().answer(post(
      {{"lab", "first-light.yaml"}, {"kind", "sweep"}, {"vary", vary}, {"set", {"expect="}}, {"name", "renamed"}}));
  ASSERT_EQ(sweep.status, 202) << sweep.body;
  EXPECT_NE(arguments_of("renamed").find("\n--untrusted\n"), std::string::npos);
  ASSERT_EQ(routes(true).answer(post({{"lab", "first-light.yaml"}, {"name", "allowed"}})).status, 202);
  EXPECT_EQ(arguments_of("allowed").find("--untrusted"), std::string::npos);
}

TEST_F(TaskRoutes, ValuesOfSweepAreThoseOfRequest) {
  const auto status = [&](std::vector<std::string> values) {
    const nlohmann::json vary = {{{"path", "workloads[1]"}, {"values", values}}};
    return routes()
        .answer(post({{"lab", "first-light.yaml"}, {"kind", "sweep"}, {"vary", vary}, {"set", {"expect="}}}))
        .status;
  };
  const std::string lat = "{name: lat, perftest: write_lat, client: vm00, server: vm01}";
  EXPECT_EQ(status({lat}), 202);
  // Three pieces that the sweep would take for one value.
  EXPECT_EQ(status({lat, "{name: lat", "program: [{node: vm00", "script: 'id'}]}"}), 400);
  EXPECT_EQ(status({"a, b"}), 400);
  EXPECT_EQ(status({""}), 400);
}

TEST_F(TaskRoutes, SweepCountsAsAllTasks) {
  const nlohmann::json vary = {{{"path", "seed"}, {"values", {"1", "2"}}}};
  ASSERT_EQ(
      routes().answer(post({{"lab", "first-light.yaml"}, {"kind", "sweep"}, {"vary", vary}, {"name", "s"}})).status,
      202);
  EXPECT_NE(arguments_of("s").find("\n--jobs\n1\n"), std::string::npos);
}

TEST_F(TaskRoutes, SweepHasItsValues) {
  const nlohmann::json vary = {{{"path", "seed"}, {"values", {"1", "2"}}}};
  const Response response =
      routes().answer(post({{"lab", "first-light.yaml"}, {"kind", "sweep"}, {"vary", vary}, {"name", "s"}}));
  ASSERT_EQ(response.status, 202) << response.body;
  EXPECT_NE(arguments_of("s").find("\n--vary=seed=1,2\n"), std::string::npos);
}

TEST_F(TaskRoutes, TooManyWaitAndFailuresLeaveNothing) {
  std::ofstream(program_) << "#!/bin/sh\nsleep 1000\n";
  const Router router = routes();
  int status = 202;
  for (int i = 0; i < 20 && status == 202; ++i) {
    status = router.answer(post({{"lab", "first-light.yaml"}})).status;
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_EQ(status, 429);
  Request cancel;
  cancel.method = "DELETE";
  cancel.path = "/api/tasks/1";
  EXPECT_EQ(router.answer(cancel).status, 202);
  for (int i = 0; i < 1000 && tasks_.is_busy("first-light"); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(router.answer(cancel).status, 409);
  cancel.path = "/api/tasks/99";
  EXPECT_EQ(router.answer(cancel).status, 404);
  cancel.path = "/api/tasks/x";
  EXPECT_EQ(router.answer(cancel).status, 404);
  tasks_.stop();
  EXPECT_TRUE(fs::is_empty(root_ / "runs"));
}

}  // namespace
}  // namespace weft::serve
