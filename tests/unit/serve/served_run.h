// A directory of real runs, made by the test itself, and a router that serves it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "labfile/reader.h"
#include "results/results_json.h"
#include "results/results_store.h"
#include "serve/run_data_routes.h"
#include "serve/tasks/remove_route.h"
#include "store/sqlite_file.h"
#include "world/runner.h"

namespace weft::serve {

// Nine senders, one receiver: a queue, marks, CNPs, pauses. One expectation is met, one is not.
inline constexpr const char* kIncastLab = R"(version: 1
name: incast
sample: auto
fabric:
  template: single-switch
  hosts: 10
  switch: sn3700c
  host: {nic: cx5-100g, mtu: 4200 B}
  cable: {kind: dac, length: 2 m}
qos: {profile: roce-lossless}
workloads:
  - {name: incast, flows: incast, hosts: all, to: h0, size: 2 MB}
expect:
  incast.done: {equal: 9}
  incast.fct_max_us: {max: 10}
)";
// Two hosts and a cable; no series, no flows.
inline constexpr const char* kPairLab = R"(version: 1
name: pair
fabric:
  template: single-switch
  hosts: 2
  switch: sn3700c
  host: {nic: cx5-100g, mtu: 4200 B}
  cable: {kind: dac, length: 2 m}
qos: {profile: roce-lossless}
workloads:
  - {name: bw, perftest: write_bw, client: h0, server: h1, args: -n 100}
)";

class ServedRuns {
 public:
  ServedRuns()
      : root_(std::filesystem::temp_directory_path() /
              ("weft-serve-" + std::to_string(getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    add_run_data_routes(router_, place_, cache_, runs_);
    add_remove_route(router_, place_, tasks_, runs_);
  }
  ~ServedRuns() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  std::string directory(const std::string& name) const { return (root_ / name).string(); }
  // Runs the lab and writes what `weft run` does; returns results.json.
  nlohmann::json run(const std::string& name, const std::string& text, bool capture = false) {
    const auto lab = lab::read_lab(text, "lab.yaml");
    if (!lab) {
      ADD_FAILURE() << lab.error().front().message;
      return {};
    }
    std::filesystem::create_directories(directory(name));
    lab::SessionOptions options;
    if (capture) {
      options.capture_path = directory(name) + "/capture.pcapng";
      options.capture_ports.push_back(lab->links.front().a);
    }
    const auto result = lab::run_lab(*lab, options);
    EXPECT_TRUE(result);
    EXPECT_TRUE(lab::write_results_json(directory(name) + "/results.json", *lab, *result));
    EXPECT_TRUE(lab::write_results_store(directory(name) + "/results.sqlite", *lab, *result));
    EXPECT_TRUE(write_file(directory(name) + "/lab.yaml", text));
    return nlohmann::json::parse(lab::results_json(*lab, *result));
  }

  Response ask(const std::string& path, std::map<std::string, std::string> query = {},
               const std::string& method = "GET") const {
    Request request;
    request.method = method;
    request.path = path;
    request.query = std::move(query);
    Response response = router_.answer(std::move(request));
    response.body = response.text();
    return response;
  }
  // The body of an answer that must be there.
  nlohmann::json get(const std::string& path, std::map<std::string, std::string> query = {}) const {
    const Response response = ask(path, std::move(query));
    EXPECT_EQ(response.status, 200) << path << ": " << response.body;
    return nlohmann::json::parse(response.body, nullptr, false);
  }

 private:
  std::filesystem::path root_;
  RunPlace place_{root_.string()};
  AnswerCache cache_;
  RunList runs_{place_};
  TaskList tasks_{TaskLimits{}, {[](const Task&) {}, [](std::uint64_t) {}}};
  Router router_;
};

}  // namespace weft::serve
