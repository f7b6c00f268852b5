#include "export/export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "unit/export/read_parquet.h"
#include "unit/export/test_run.h"

namespace weft::exports {
namespace {

std::vector<ExportedFile> exported(const TestRun& run, ExportFormat format, const std::string& out,
                                   const std::vector<std::string>& series = {}) {
  const auto files = export_run(run.path(), {format, run.file(out), series});
  EXPECT_TRUE(files) << files.error().message;
  return files ? *files : std::vector<ExportedFile>{};
}

TEST(Export, CsvIsRfc4180) {
  const TestRun run;
  exported(run, ExportFormat::kCsv, "out");
  EXPECT_EQ(TestRun::read(run.file("out/flow.csv")),
            "workload,number,source,destination,size_B,start_ps,fct_ps,state,goodput_bps\r\n"
            "\"a, \"\"b\"\"\",0,h0:p0,h1:p0,1000,0,20000000,done,1000000000\r\n"
            "\"a, \"\"b\"\"\",1,h0:p0,h1:p0,9223372036854775807,10000000,,running,0.1\r\n"
            "c,2,h1:p0,h0:p0,1,,,\"\",\r\n");
  EXPECT_EQ(TestRun::read(run.file("out/odd___name.csv")), "a column,time_ps\r\n\"line\nbreak\",6000000\r\n");
  EXPECT_EQ(TestRun::read(run.file("out/counter.csv")).substr(0, 80),
            "node,port,device,group,name,value\r\nh0,p0,mlx5_0,hw_counters,np_cnp_sent,5\r\nh0,p0");
  EXPECT_EQ(TestRun::read(run.file("out/series.csv")).substr(0, 128),
            "time_ps,node,port,class,metric,unit,value\r\n0,leaf0,swp1,3,queue_B,B,0\r\n10000000,leaf0,swp1,3,"
            "queue_B,B,500\r\n20000000,leaf0,swp1,");
}

// Cell by cell what the table has, through a reader of its own; also with row groups of one row and of three.
TEST(Export, ParquetHasEachCell) {
  const TestRun run;
  const std::vector<ExportedFile> files = exported(run, ExportFormat::kParquet, "out");
  const auto store = RunStore::open(run.path());
  ASSERT_TRUE(store);
  std::size_t compared = 0;
  for (const ExportedFile& file : files) {
    const ReadParquet read = read_parquet(TestRun::read(file.path));
    const auto table = file.what == "series" ? store->series_table({}) : store->table(file.what);
    EXPECT_EQ(read.name, file.what);
    ASSERT_EQ(read.columns.size(), table->columns().size());
    std::size_t number = 0;
    for (std::vector<Cell> row; table->next(row); ++number) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        std::optional<std::string> wanted;
        if (const auto* integer = std::get_if<std::int64_t>(&row[c])) wanted = std::to_string(*integer);
        if (const auto* real = std::get_if<double>(&row[c])) wanted = fmt::format("{}", *real);
        if (const auto* text = std::get_if<std::string>(&row[c])) wanted = *text;
        EXPECT_EQ(read.rows.at(number)[c], wanted) << file.what << " row " << number << " " << read.columns[c];
        ++compared;
      }
    }
    EXPECT_EQ(number, read.rows.size());
    EXPECT_EQ(number, file.count);
  }
  EXPECT_GT(compared, 100U);
}

TEST(Export, SeriesPatternsSelect) {
  const TestRun run;
  const auto rows = [&](const std::vector<std::string>& patterns) {
    const auto files = exported(run, ExportFormat::kCsv, "out", patterns);
    return files.empty() ? 0 : files.back().count;
  };
  EXPECT_EQ(rows({}), 15U);
  EXPECT_EQ(rows({"queue_B"}), 5U);
  EXPECT_EQ(rows({"leaf0:*"}), 10U);
  EXPECT_EQ(rows({"h0:p?.np_cnp_sent", "leaf0:swp1.3.queue_B"}), 10U);
  EXPECT_EQ(rows({"none"}), 0U);
  const auto none = export_run(run.path(), {ExportFormat::kCsv, run.file("out"), {"queue"}});
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().is_input);
  EXPECT_NE(none.error().remedy.find("leaf0:swp1.3.queue_B"), std::string::npos);
}

TEST(Export, PrometheusUsesNamesOfNodeExporter) {
  const TestRun run;
  exported(run, ExportFormat::kPrometheus, "m.prom");
  const std::string text = TestRun::read(run.file("m.prom"));
  const auto has = [&](const std::string& line) { EXPECT_NE(text.find(line + "\n"), std::string::npos) << line; };
  has(R"(node_infiniband_np_cnp_packets_sent_total{instance="h0",device="mlx5_0",port="1"} 5)");
  has(R"(node_infiniband_np_cnp_packets_sent_total{instance="h1",device="mlx5_0",port="1"} 0)");
  has(R"(node_infiniband_port_data_transmitted_bytes_total{instance="h0",device="mlx5_0",port="1"} 1234)");
  has(R"(node_infiniband_rate_bytes_per_second{instance="h0",device="mlx5_0",port="1"} 12500000000)");
  has(R"(node_ethtool_received_prio3_pause{instance="h0",device="p0"} 7)");
  has("# TYPE node_ethtool_received_prio3_pause untyped");
  has(R"(weft_nic_acks_sent_total{instance="h0",device="mlx5_0",port="1"} 9)");
  has(R"(weft_port_tx_packets_total{instance="leaf0",port="swp1",class="3"} 10)");
  has(R"(weft_port_pause_tx_seconds_total{instance="leaf0",port="swp1",class="3"} 0.0015)");
  has(R"(weft_port_max_queue_bytes{instance="leaf0",port="swp1",class="3"} 4096)");
  has(R"(weft_lost_packets_total{instance="leaf0",port="swp1",reason="tail \"drop\""} 3)");
  const std::string flow = R"({workload="a, \"b\"",number="0",source="h0:p0",destination="h1:p0",state="done"} )";
  has("weft_flow_goodput_bytes_per_second" + flow + "125000000");
  has("weft_flow_fct_seconds" + flow + "0.00002");
  const std::string series = TestRun::read(run.file("m.openmetrics"));
  EXPECT_NE(
      series.find("# TYPE weft_series_queue_bytes gauge\nweft_series_queue_bytes{instance=\"leaf0\",port=\"swp1\","
                  "class=\"3\"} 0 1767225600\n"),
      std::string::npos)
      << series;
  EXPECT_NE(series.find("weft_series_np_cnp_sent_total{instance=\"h0\",port=\"p0\",class=\"\"} 2 1767225602\n"),
            std::string::npos);
  EXPECT_TRUE(series.ends_with("# EOF\n"));
}

TEST(Export, TraceHasSlicesCountersAndInstants) {
  const TestRun run;
  exported(run, ExportFormat::kChromeTrace, "t.json");
  const auto json = nlohmann::json::parse(TestRun::read(run.file("t.json")), nullptr, false);
  ASSERT_TRUE(json.is_object());
  std::map<int, std::string> process;
  std::map<std::pair<int, int>, std::string> thread;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "M") continue;
    if (event.at("name") == "process_name") process[event.at("pid")] = event.at("args").at("name");
    if (event.at("name") == "thread_name") thread[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
  }
  std::vector<std::string> seen;
  std::map<std::pair<int, int>, double> busy_us;
  for (const auto& event : json.at("traceEvents")) {
    const std::string kind = event.at("ph");
    if (kind == "M") continue;
    std::string line = kind + " " + process.at(event.at("pid"));
    if (kind != "C") line += "/" + thread.at({event.at("pid"), event.at("tid")});
    line += " " + event.at("name").get<std::string>() + fmt::format(" {}", event.at("ts").get<double>());
    if (kind == "X") {
      line += fmt::format("+{}", event.at("dur").get<double>());
      double& busy = busy_us[{event.at("pid"), event.at("tid")}];
      EXPECT_GE(event.at("ts").get<double>(), busy) << "slices of a thread overlap";
      busy = event.at("ts").get<double>() + event.at("dur").get<double>();
    }
    if (kind == "C") line += fmt::format(" = {}", event.at("args").at("value").get<std::int64_t>());
    seen.push_back(line);
  }
  const std::vector<std::string> wanted = {
      "X h0/flows a, \"b\" 0 to h1:p0 0+20",
      "X h0/flows (2) a, \"b\" 1 to h1:p0 10+40",
      "X leaf0/leaf0:swp1 class 3 pauses its peer XOFF to h0:p0 1+1",
      "X h0/h0:p0 class 3 paused paused by leaf0:swp1 3+1",
      "X leaf0/leaf0:swp1 class 4 pauses its peer XOFF to h0:p0 1+49",
      "i leaf0/drop_record tail drop 5.000001",
      "i run/odd \" name odd \" name 6",
      "C leaf0 swp1.3.queue_B 0 = 0",
      "C leaf0 swp1.3.queue_B 10 = 500",
      "C leaf0 swp1.3.queue_B 30 = -3",
      "C leaf0 swp1.3.queue_B 40 = 0",
  };
  ASSERT_GE(seen.size(), wanted.size());
  EXPECT_EQ(std::vector<std::string>(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(wanted.size())), wanted);
}

TEST(Export, SameRunGivesSameBytes) {
  const TestRun run;
  for (ExportFormat format :
       {ExportFormat::kCsv, ExportFormat::kParquet, ExportFormat::kPrometheus, ExportFormat::kChromeTrace}) {
    const auto first = exported(run, format, "one"), second = exported(run, format, "two");
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i)
      EXPECT_EQ(TestRun::read(first[i].path), TestRun::read(second[i].path)) << first[i].path;
    std::filesystem::remove_all(run.file("one"));
    std::filesystem::remove_all(run.file("two"));
  }
}

std::string problem_of(const std::string& directory, const ExportOptions& options, bool is_input) {
  const auto files = export_run(directory, options);
  if (files) return "";
  EXPECT_EQ(files.error().is_input, is_input) << files.error().message;
  return files.error().message;
}

TEST(Export, BadInputIsReported) {
  EXPECT_NE(problem_of("/nonexistent", {}, true).find("no directory"), std::string::npos);
  const TestRun empty;
  std::filesystem::remove(empty.file("results.sqlite"));
  EXPECT_NE(problem_of(empty.path(), {}, true).find("results.sqlite"), std::string::npos);
  empty.write("results.sqlite", "this is no database, and never was one");
  EXPECT_NE(problem_of(empty.path(), {}, true).find("not a database"), std::string::npos);
  const TestRun other;
  other.execute("PRAGMA user_version = 99");
  EXPECT_NE(problem_of(other.path(), {}, true).find("version 99"), std::string::npos);
  const TestRun endless;
  endless.execute("UPDATE run SET value='4000000000000000000' WHERE key='samples'");
  EXPECT_NE(problem_of(endless.path(), {}, true).find("do not fit"), std::string::npos);
  const TestRun older;
  older.execute("DROP TABLE counter");
  EXPECT_NE(problem_of(older.path(), {}, true).find("older weft"), std::string::npos);
  const TestRun block;
  block.execute("UPDATE block SET data=x'ff'");
  for (ExportFormat format :
       {ExportFormat::kCsv, ExportFormat::kParquet, ExportFormat::kPrometheus, ExportFormat::kChromeTrace})
    EXPECT_NE(problem_of(block.path(), {format, "", {}}, false).find("damaged block"), std::string::npos);
}

TEST(Export, TooManySamplesAreRefused) {
  const TestRun run;
  run.execute(
      "UPDATE run SET value='9000000000000000000' WHERE key IN ('end_ps','samples'); "
      "UPDATE run SET value='1' WHERE key='sample_interval_ps'");
  const auto files = export_run(run.path(), {});
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message.find("more than this reads"), std::string::npos) << files.error().message;
}

TEST(Export, DirectoryOfSeveralSeedsNamesOneOfThem) {
  const TestRun study;
  for (const char* name : {"/seed-2", "/seed-1", "/seed-notes"}) {
    std::filesystem::create_directory(study.path() + name);
    if (std::string(name) != "/seed-notes") study.write(name + std::string("/results.sqlite"), "");
  }
  std::filesystem::remove(study.file("results.sqlite"));
  const auto files = export_run(study.path(), {});
  ASSERT_FALSE(files);
  EXPECT_TRUE(files.error().is_input);
  EXPECT_NE(files.error().message.find("runs of 2 seeds"), std::string::npos) << files.error().message;
  EXPECT_NE(files.error().remedy.find("/seed-1 "), std::string::npos) << files.error().remedy;
}

TEST(Export, UnwritablePlacesAreReported) {
  const TestRun run;
  run.write("file", "");
  EXPECT_NE(problem_of(run.path(), {ExportFormat::kCsv, run.file("file/x"), {}}, true).find("cannot make"),
            std::string::npos);
  EXPECT_NE(problem_of(run.path(), {ExportFormat::kChromeTrace, run.path(), {}}, true).find("is a directory"),
            std::string::npos);
  if (std::filesystem::exists("/dev/full")) {
    for (ExportFormat format : {ExportFormat::kPrometheus, ExportFormat::kChromeTrace})
      EXPECT_NE(problem_of(run.path(), {format, "/dev/full", {"none"}}, false).find("No space left"),
                std::string::npos);
  }
}

}  // namespace
}  // namespace weft::exports
