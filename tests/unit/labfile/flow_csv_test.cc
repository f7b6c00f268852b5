#include "labfile/workloads/flow_csv.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kCsvGraph =
    "name,from,to,size,after,delay\n"
    "a,vm00,vm01,1 MB,,\n"
    "# an answer, and then both again\n"
    "\"answer\", vm01, vm00, 4 KiB, a,\r\n"
    "again,vm00,vm01,1 MB,a  answer,2 us";

class FlowCsv : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) / ("weft_flow_csv" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  tl::expected<Lab, std::vector<Problem>> read(std::string_view csv) {
    std::ofstream(directory_ / "flows.csv") << csv;
    return read_lab(good_lab_and("  - {name: g, flows: graph, file: flows.csv}\n"), (directory_ / "lab.yaml").string());
  }
  // Messages, without the directory.
  std::vector<std::string> messages(std::string_view csv) {
    std::vector<std::string> list;
    const auto lab = read(csv);
    if (lab) return list;
    for (const Problem& problem : lab.error()) {
      std::string text = problem.message;
      const std::size_t at = text.find(directory_.string());
      if (at != std::string::npos) text.erase(at, directory_.string().size() + 1);
      list.push_back(text);
    }
    return list;
  }

  std::filesystem::path directory_;
};

TEST_F(FlowCsv, EqualsList) {
  const auto lab = read(kCsvGraph);
  ASSERT_TRUE(lab) << lab.error().front().message;
  const auto& options = *lab->workloads.back().as<workload::FlowOptions>();
  EXPECT_EQ(options.names, (std::vector<std::string>{"a", "answer", "again"}));
  EXPECT_EQ(options.flows[1].size_B, 4096u);
  EXPECT_EQ(options.flows[2].start_ps, 2'000'000);
  EXPECT_EQ(options.dependencies.size(), 3u);
}

TEST_F(FlowCsv, NamesWrongLine) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(messages("name,form,to\n"), Lines{"flows.csv:1: there is no column \"form\""});
  EXPECT_EQ(messages("name,from,to,size\na,vm00,vm01\n"), Lines{"flows.csv:2: 3 fields, and 4 columns"});
  EXPECT_EQ(messages("name,from,to,size\na,vm00,vm01,1\n"),
            (Lines{"size: \"1\" has no unit", "that is line 2 of flows.csv"}));
  EXPECT_EQ(messages("name,from,to,size,after\na,vm00,vm01,1 B,b\n"),
            Lines{"a waits for \"b\", which is not in the list"});
  EXPECT_EQ(messages(""), Lines{"a graph without flows"});
}

}  // namespace
}  // namespace weft::lab
