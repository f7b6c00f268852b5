#include "serve/runs/workload_summary.h"

#include "unit/serve/served_run.h"

namespace weft::serve {
namespace {

TEST(WorkloadSummary, PerftestReportInOneLine) {
  EXPECT_EQ(
      summary_of_workload(
          R"({"perftest": {"results": {"MsgSize": 65536, "BW_peak": 97.99, "BW_average": 97.99, "MsgRate": 0.186905}}})"),
      "BW average 97.99 Gb/s, BW peak 97.99 Gb/s, MsgRate 0.1869 Mpps");
  // The same without --report_gbits: 16 B, 2.5 million a second.
  EXPECT_EQ(
      summary_of_workload(
          R"({"perftest": {"results": {"MsgSize": 16, "BW_peak": 0, "BW_average": 38.74, "MsgRate": 2.538633}}})"),
      "BW average 38.74 MiB/s, MsgRate 2.539 Mpps");
  EXPECT_EQ(
      summary_of_workload(
          R"({"perftest": {"results": {"MsgSize": 2, "t_min": 1.34, "t_typical": 1.41, "t_avg": 1.42, "percentile_99": 1.48, "percentile_99.9": 4.63}}})"),
      "t_typical 1.41 us, t_avg 1.42 us, 99% 1.48 us, 99.9% 4.63 us");
  EXPECT_EQ(summary_of_workload(
                R"({"perftest": {"results": [{"MsgSize": 2, "t_avg": 1}, {"MsgSize": 4096, "t_avg": 2.5}]}})"),
            "2 sizes, at 4 KiB: t_avg 2.5 us");
}

TEST(WorkloadSummary, SaysTransfersAndSteps) {
  EXPECT_EQ(
      summary_of_workload(
          R"({"transfer": {"posted": 10, "completed": 10, "verified": 10, "bytes_ok": 655360, "elapsed_ns": 117630}})"),
      "10 of 10 operations completed, 10 verified, 640 KiB in 118 us");
  EXPECT_EQ(
      summary_of_workload(
          R"({"job": {"step_ps": [4000000000, 5000000000], "compute_percent": 26.2457, "exposed_percent": 69.4188}})"),
      "2 steps of 4.50 ms on average: 26 % compute, 69 % exposed communication");
}

TEST(WorkloadSummary, TakesWhatNoRunWrites) {
  for (const char* json :
       {"", "5", "[]", "{}", R"({"perftest": 5})", R"({"perftest": {"results": 5}})",
        R"({"perftest": {"results": []}})", R"({"perftest": {"results": [5]}})",
        R"({"perftest": {"results": {"BW_average": "x"}}})", R"({"transfer": {}})", R"({"transfer": {"posted": -1}})",
        R"({"job": {"step_ps": []}})", R"({"job": {"step_ps": 5}})", R"({"job": {"step_ps": [1e300]}})"})
    EXPECT_EQ(summary_of_workload(json), "") << json;
  EXPECT_NE(summary_of_workload(R"({"transfer": {"posted": 1, "elapsed_ns": 9e17}})"), "");
}

TEST(WorkloadSummary, SummarisesRealRuns) {
  ServedRuns served;
  served.run("pair", kPairLab);
  served.run("incast", kIncastLab);
  const std::string pair = served.get("/api/runs/pair")["workloads"][0]["summary"];
  EXPECT_TRUE(pair.starts_with("BW average ")) << pair;
  const std::string incast = served.get("/api/runs/incast")["workloads"][0]["summary"];
  EXPECT_TRUE(incast.starts_with("9 of 9 flows done, the slowest in ")) << incast;
}

}  // namespace
}  // namespace weft::serve
