// Programs of a lab file: `weft run` starts Debian's own on the simulated NICs, waits for them, and reports what they
// say, the same again; whatever becomes of a program is said, and nothing hangs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "interop/interop_support.h"
#include "interop/live_world.h"
#include "support/matching.h"
#include "support/slowdown.h"

namespace weft::interop {
namespace {

using Json = nlohmann::ordered_json;

struct LabRun {
  int status = -1;
  std::string report, results;
  Json json() const { return Json::parse(results, nullptr, false); }
};

class ProgramWorkload : public testing::Test {
 protected:
  LabRun run(const std::string& lab, const std::string& before = test::timeout(120)) const {
    const std::string out = temp_.file("out");
    LabRun run;
    const int status = std::system(
        (before + WEFT_BINARY " run " + lab + " --out " + out + " >" + temp_.file("said") + " 2>&1 </dev/null")
            .c_str());
    run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    run.report = text_of(out + "/report.md");
    run.results = text_of(out + "/results.json");
    if (run.report.empty()) run.report = text_of(temp_.file("said"));
    return run;
  }
  // The two hosts of perftest-25g with other workloads.
  std::string lab_with(const std::string& workloads) const {
    std::string text = text_of(WEFT_SOURCE_DIR "/labs/perftest-25g.yaml");
    text.erase(text.find("workloads:"));
    std::ofstream(temp_.file("lab.yaml")) << text << workloads;
    return temp_.file("lab.yaml");
  }

  TempDir temp_;
};

bool says(const LabRun& run, const std::string& text) {
  return run.report.find(text) != std::string::npos;
}

// The table of [mcornea-lab]: 24.5 Gb/s for 64 KiB within 3 %, 1.41 us within 5 %.
TEST_F(ProgramWorkload, PerftestAt25GigabitRepeatsExactly) {
  const std::string lab = WEFT_SOURCE_DIR "/labs/perftest-25g.yaml";
  const LabRun first = run(lab), second = run(lab);
  ASSERT_EQ(first.status, 0) << first.report;
  const Json workloads = first.json()["workloads"];
  EXPECT_NEAR(workloads[0]["found"]["bw_Gbps"].get<double>(), 24.5, 24.5 * 0.03);
  EXPECT_NEAR(workloads[1]["found"]["typical_us"].get<double>(), 1.41, 1.41 * 0.05);
  if (!test::may_be_taken_for_spinning()) {
    EXPECT_EQ(first.report, second.report);
    EXPECT_EQ(first.results, second.results);
    EXPECT_TRUE(workloads[0]["deterministic"].get<bool>() && workloads[1]["deterministic"].get<bool>());
  }
  EXPECT_TRUE(says(first, "RDMA_Write BW Test")) << "what the program says\n" << first.report;
  EXPECT_EQ(workloads[0]["programs"][1]["started_ps"].get<std::int64_t>(), 1'000'000'000);
}

// 4,096 of 4,096 + 82 bytes of a packet are payload: both together cannot have more of the cable, and get nearly all.
TEST_F(ProgramWorkload, TwoPairsShareCableWithFlow) {
  const LabRun both = run(WEFT_SOURCE_DIR "/labs/live/two-pairs-100g.yaml");
  ASSERT_EQ(both.status, 0) << both.report;
  const Json workloads = both.json()["workloads"];
  const double a = workloads[0]["found"]["first_Gbps"].get<double>(),
               b = workloads[0]["found"]["second_Gbps"].get<double>(), limit = 100.0 * 4096 / 4178;
  EXPECT_LT(a + b, limit * 1.01);
  EXPECT_GT(a + b, limit * 0.97);
  EXPECT_LT(std::abs(a - b), 0.15 * limit / 2) << "fair enough";
  EXPECT_GT(workloads[1]["flows"]["goodput_Gbps"].get<double>(), 97.0) << "on a cable of its own";
}

TEST_F(ProgramWorkload, ReportsHowProgramsEnd) {
  const LabRun bad = run(lab_with(R"(workloads:
  - {name: none, program: [{node: vm00, command: no_such_program -x}]}
  - name: fails
    program:
      - {node: vm00, command: [sh, -c, "echo to err >&2; echo 12 out; exit 3"], find: {twelve: '([0-9]+) out'}}
  - {name: killed, program: [{node: vm00, command: "sh -c 'kill -TERM $$'"}]}
  - {name: stuck, program: [{node: vm00, command: ib_write_bw -F -x 3}]}
  - {name: late, program: [{node: vm00, command: sleep 10, timeout: 10 ms}]}
  - {name: loud, program: [{node: vm01, command: "sh -c 'yes abcdefgh | head -c 1000000'"}]}
  - {name: leaves, program: [{node: vm01, command: "sh -c 'sleep 1000 & echo bye'"}]}
expect:
  fails.exit: {equal: 3}
  fails.twelve: {equal: 12}
  killed.exit: {equal: 143}
)"));
  EXPECT_EQ(bad.status, 1) << bad.report;
  EXPECT_TRUE(says(bad, "FAILED: cannot be run: No such file or directory")) << bad.report;
  EXPECT_TRUE(says(bad, "to err\n12 out\n"));
  EXPECT_TRUE(says(bad, "FAILED: was ended by signal 15"));
  EXPECT_TRUE(says(bad, "FAILED: was stopped: it waits for something that cannot happen any more"));
  EXPECT_TRUE(says(bad, "FAILED: was stopped: its timeout is over"));
  EXPECT_TRUE(says(bad, "737856 bytes more that were not kept")) << "1,000,000 less 256 KiB";
  EXPECT_TRUE(says(bad, "bye\n"));
  EXPECT_TRUE(says(bad, "ok   fails.exit = 3")) << bad.report;
  EXPECT_TRUE(says(bad, "ok   killed.exit = 143"));
  const Json workloads = bad.json()["workloads"];
  EXPECT_EQ(workloads[0]["exit"], 127);
  EXPECT_EQ(workloads[3]["exit"], 124);
  EXPECT_EQ(workloads[4]["programs"][0]["ended_ps"].get<std::int64_t>() -
                workloads[4]["programs"][0]["started_ps"].get<std::int64_t>(),
            10'000'000'000);
}

// An expectation on the exit status makes 3 right; without one any status but 0 fails the run.
TEST_F(ProgramWorkload, ChecksExitStatus) {
  const std::string fails = "workloads: [{name: p, program: [{node: vm00, command: \"sh -c 'exit 3'\"}]}]\n";
  EXPECT_EQ(run(lab_with(fails)).status, 1);
  EXPECT_EQ(run(lab_with(fails + "expect: {p.exit: {equal: 3}}\n")).status, 0);
}

// Two programs that each shell starts in turn; the world waits between them.
TEST_F(ProgramWorkload, ShellsStartProgramsInRepeatableOrder) {
  const std::string lab = lab_with(R"(workloads:
  - name: shells
    program:
      - {node: vm00, command: "sh -c 'for i in 1 2; do ib_send_bw -F -x 3 -n 100; done'"}
      - node: vm01
        start: 1 ms
        command: "sh -c 'for i in 1 2; do ib_send_bw -F -x 3 -n 100 vm00; done'"
        find: {rows: '^ 65536 '}
)");
  const LabRun first = run(lab), second = run(lab);
  ASSERT_EQ(first.status, 0) << first.report;
  EXPECT_EQ(first.json()["workloads"][0]["found"]["rows"], 2.0);
  EXPECT_EQ(first.report, second.report);
}

TEST_F(ProgramWorkload, InterruptedRunEndsProgramsAndWritesReport) {
  const LabRun cut = run(lab_with(R"(workloads:
  - name: long
    program:
      - {node: vm00, command: "sh -c 'echo pid $$; exec ib_write_bw -F -x 3 -D 50'"}
      - {node: vm01, start: 1 ms, command: ib_write_bw -F -x 3 -D 50 vm00}
)"),
                         "timeout --preserve-status -k 600 -s INT " + std::to_string(4 * test::slowdown()) + " ");
  EXPECT_EQ(cut.status, 130) << cut.report;
  EXPECT_TRUE(says(cut, "FAILED: was stopped with the run")) << cut.report;
  const std::vector<std::string> pid = test::match(cut.report, "pid ([0-9]+)");
  ASSERT_FALSE(pid.empty()) << cut.report;
  EXPECT_NE(kill(std::stoi(pid[1]), 0), 0) << "it runs on";
}

TEST_F(ProgramWorkload, RunsPipelinesAndScripts) {
  const LabRun done = run(WEFT_SOURCE_DIR "/labs/live/pipeline.yaml");
  EXPECT_EQ(done.status, 0) << done.report;
  EXPECT_TRUE(says(done, "latencies.exit = 0")) << done.report;
  EXPECT_EQ(run(WEFT_SOURCE_DIR "/labs/live/pipeline.yaml").results, done.results) << "it says `deterministic`";
}

TEST_F(ProgramWorkload, FailsWithAnyPipelineCommand) {
  const LabRun failed = run(lab_with(R"(workloads:
  - name: w
    program: [{node: vm00, script: "sh -c 'sleep 0.1; exit 3' | cat"}]
)"));
  EXPECT_EQ(failed.status, 1);
  EXPECT_TRUE(says(failed, "exit status 3") || says(failed, "status 3")) << failed.report;
  const LabRun later = run(lab_with(R"(workloads:
  - name: w
    program: [{node: vm00, script: "false || true\nsleep 1 | cat\nfalse\necho not reached"}]
)"));
  EXPECT_EQ(later.status, 1);
  EXPECT_FALSE(says(later, "\nnot reached")) << later.report;
}

}  // namespace
}  // namespace weft::interop
