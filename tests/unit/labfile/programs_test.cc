#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kPerftest = "perftest: write_bw, client: vm00, server: vm01";

std::string with_program(std::string_view programs) {
  return good_lab_with(kPerftest, fmt::format("program: {}", programs));
}

TEST(LabPrograms, AreRead) {
  const WorkloadConfig bw =
      read_good(with_program("[{node: vm01, command: \"sh -c 'exit  3' a\\\\ b\", start: 2 ms, timeout: 1 s, "
                             "find: {bw: 'avg ([0-9.]+)', lines: x}}, {node: vm00, command: [cat, -n, 7, \"a b\"]}], "
                             "start: 5 us"))
          .workloads.at(0);
  EXPECT_EQ(bw.start_ps, us(5));
  const auto* options = bw.as<workload::ProgramOptions>();
  ASSERT_NE(options, nullptr);
  ASSERT_EQ(options->programs.size(), 2U);
  const workload::ProgramCommand& first = options->programs[0];
  EXPECT_EQ(first.host, 1U);
  EXPECT_EQ(first.node, "vm01");
  EXPECT_EQ(first.words, (std::vector<std::string>{"sh", "-c", "exit  3", "a b"}));
  EXPECT_EQ(first.start_ps, ms(2));
  EXPECT_EQ(first.timeout_ps, kSecond_ps);
  ASSERT_EQ(first.finds.size(), 2U);
  EXPECT_EQ(first.finds[0].name, "bw");
  EXPECT_EQ(first.finds[0].pattern, "avg ([0-9.]+)");
  const workload::ProgramCommand& second = options->programs[1];
  EXPECT_EQ(second.words, (std::vector<std::string>{"cat", "-n", "7", "a b"}));
  EXPECT_EQ(second.start_ps, 0);
  EXPECT_EQ(second.timeout_ps, 60 * kSecond_ps);
}

TEST(LabPrograms, Problems) {
  expect_problem(with_program("[]"), "21:25 a workload without programs");
  expect_problem(with_program("ib_write_bw"), "21:25 program is a single v");
  expect_problem(with_program("[{node: vm7, command: x}]"), "21:33 there is no node \"vm7\"");
  expect_problem(with_program("[{command: x}]"), "21:26 program[0] has no \"node\"");
  expect_problem(with_program("[{node: vm00}]"), "21:26 program[0] has no \"command\"");
  expect_problem(with_program("[{node: vm00, command: \"\"}]"), "21:48 an empty command");
  expect_problem(with_program("[{node: vm00, command: []}]"), "21:48 an empty command");
  expect_problem(with_program("[{node: vm00, command: a, script: b}]"), "21:59 a program with a command and a script");
  expect_problem(with_program("[{node: vm00, script: ' '}]"), "21:47 an empty script");
  expect_problem(with_program("[{node: vm00, command: \"echo 'a\"}]"), "21:48 a quote in the command is not closed");
  expect_problem(with_program("[{node: vm00, command: [sh, [x]]}]"), "21:53 a word of the command is not a text");
  expect_problem(with_program("[{node: vm00, command: x, when: 1 ms}]"), "21:51 program[0] has no key \"when\"");
  expect_problem(with_program("[{node: vm00, command: x, timeout: 2}]"), "21:60 timeout: \"2\" has no unit");
  expect_problem(with_program("[{node: vm00, command: x}], client: vm01"), "21:61 client does not fit here");
  expect_problem(with_program("[{node: vm00, command: x}], flows: incast"), "21:5 more than one kind");
}

TEST(LabPrograms, ReportsBadPatternsInPlace) {
  const auto find = [](std::string_view what) {
    return with_program(fmt::format("[{{node: vm00, command: x, find: {}}}]", what));
  };
  expect_problem(find("[a]"), "21:57 find is not a map");
  expect_problem(find("{bw: '(a'}"),
                 "21:62 the pattern \"(a\" cannot be used: Unmatched ( or \\( | an expression as for");
  expect_problem(find("{bw: '(a)(b)'}"), "21:62 the pattern \"(a)(b)\" cannot be used: it has 2 groups");
  expect_problem(find("{bw: '\\d+'}"), "21:62 the pattern \"\\d+\" cannot be used: \\d is not in extended");
  expect_problem(find("{bw: '(a)\\1'}"), "21:62 the pattern \"(a)\\1\" cannot be used: it refers back");
  expect_problem(find("{bw: 'a{1000}{1000}'}"), "21:62 the pattern \"a{1000}{1000}\" cannot be used: it has more");
  expect_problem(find("{exit: a}"), "21:58 exit is the exit status already");
  expect_problem(find("{b.w: a}"), "21:58 find \"b.w\" is not a name");
  expect_problem(with_program("[{node: vm00, command: x, find: {a: b}}, {node: vm01, command: x, find: {a: b}}]"),
                 "21:98 two programs of this workload find \"a\"");
}

TEST(LabPrograms, Expectations) {
  const std::string text = with_program("[{node: vm00, command: x, find: {bw: b}}]");
  const Lab lab = read_good(text + "expect: {bw.exit: {equal: 0}, bw.bw: {min: 3}}\n");
  EXPECT_EQ(lab.expectations.at(0).metric, "exit");
  EXPECT_EQ(lab.expectations.at(1).metric, "bw");
  expect_problem(text + "expect: {bw.latency: {max: 3}}\n",
                 "23:10 bw does not measure \"latency\" | it has exit, bw; more are named under find");
  std::string alone = text;
  alone.erase(alone.find("  - {name: w,"));
  EXPECT_EQ(read_good(alone + "expect: {exit: {equal: 0}}\n").expectations.at(0).subject, "bw");
}

}  // namespace
}  // namespace weft::lab
