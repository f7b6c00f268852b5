#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

constexpr std::string_view kBw = "  - {name: bw, perftest: write_bw, client: vm00, server: vm01}\n";

std::string with_workload(std::string_view workload) {
  return good_lab_with(kBw, fmt::format("  - {}\n", workload));
}
// The good lab with a second cable between the same hosts.
std::string two_links(std::string_view workload) {
  std::string text = with_workload(workload);
  text.erase(text.find("  - {name: w,"));
  text.insert(text.find("workloads:"), "  - endpoints: [\"vm01:p1\", \"vm00:p1\"]\n");
  return text;
}

TEST(LabWorkloads, Perftest) {
  const WorkloadConfig bw =
      read_good(
          with_workload(
              "{name: bw, perftest: ib_write_bw, client: vm01, server: vm00, args: \"-s 64 -n 1000\", start: 3 us}"))
          .workloads.at(0);
  EXPECT_EQ(bw.name, "bw");
  EXPECT_EQ(bw.client, (PortRef{1, 0, 0}));
  EXPECT_EQ(bw.server, (PortRef{0, 0, 0}));
  EXPECT_EQ(bw.start_ps, us(3));
  const auto* perftest = bw.as<workload::PerftestOptions>();
  ASSERT_NE(perftest, nullptr);
  EXPECT_EQ(perftest->size_B, 64U);
  EXPECT_EQ(perftest->iterations, 1000U);
  EXPECT_FALSE(read_good(kGoodLab).workloads.at(0).start_ps.has_value());
}

TEST(LabWorkloads, EndsMayNamePorts) {
  const auto ends = [](std::string_view client, std::string_view server) {
    const Lab lab = read_good(
        two_links(fmt::format("{{name: bw, perftest: write_bw, client: \"{}\", server: \"{}\"}}", client, server)));
    return lab.workloads.empty()
               ? ""
               : port_name(lab, lab.workloads.at(0).client) + " " + port_name(lab, lab.workloads.at(0).server);
  };
  EXPECT_EQ(ends("vm00:p0", "vm01:p0"), "vm00:p0 vm01:p0");
  EXPECT_EQ(ends("vm00:p1", "vm01"), "vm00:p1 vm01:p1");
  EXPECT_EQ(ends("vm01", "vm00:p1"), "vm01:p1 vm00:p1");
}

TEST(LabWorkloads, Ends) {
  expect_problem(two_links("{name: bw, perftest: write_bw, client: vm00, server: vm01}"),
                 "22:44 2 links join vm00 and vm01 | name the port: vm00:p0, vm00:p1");
  expect_problem(two_links("{name: bw, perftest: write_bw, client: \"vm00:p0\", server: \"vm01:p1\"}"),
                 "22:63 no link joins \"vm00:p0\" and \"vm01:p1\"");
  expect_problem(with_workload("{name: bw, perftest: write_bw, client: vm00, server: vm00}"),
                 "21:58 client and server are one host, vm00");
  expect_problem(with_workload("{name: bw, perftest: write_bw, client: \"vm00:p1\", server: vm01}"),
                 "21:44 \"vm00:p1\" has no cable");
  expect_problem(with_workload("{name: bw, perftest: write_bw, client: vm07, server: vm01}"),
                 "21:44 there is no node \"vm07\"");
  expect_problem(with_workload("{name: bw, perftest: write_bw, server: vm01}"), "21:5 workloads[0] has no \"client\"");
  expect_problem(with_workload("{name: bw, perftest: write_bw, client: \"vm00:p0/1\", server: vm01}"),
                 "21:44 \"vm00:p0/1\": a port of cx4-lx-25g has 1 PCIe function");
}

TEST(LabWorkloads, Functions) {
  std::string text = read_source_file("labs/dgx-spark.yaml");
  const Lab lab = read_good(text);
  EXPECT_EQ(lab.workloads.at(3).client_function, 1U);
  EXPECT_EQ(lab.workloads.at(3).server_function, 1U);
  EXPECT_EQ(lab.workloads.at(2).client_function, 0U);
  text.replace(text.find("p0/1"), 4, "p0/2");
  const auto problems = problems_of(text);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find("has 2 PCIe functions | write /0 to /1"), std::string::npos) << problems[0];
}

TEST(LabWorkloads, Problems) {
  expect_problem(with_workload("{perftest: write_bw, client: vm00, server: vm01}"),
                 "21:5 workloads[0] has no \"name\"");
  expect_problem(with_workload("{name: b.w, perftest: write_bw, client: vm00, server: vm01}"),
                 "21:12 name \"b.w\" is not a name");
  expect_problem(with_workload("{name: w, perftest: write_bw, client: vm00, server: vm01}"),
                 "22:12 two workloads are named w");
  expect_problem(with_workload("{name: bw, client: vm00, server: vm01}"), "21:5 a workload that does nothing");
  expect_problem(with_workload("{name: bw, perftest: write_bw, transfer: write, client: vm00, server: vm01}"),
                 "21:5 more than one kind in one workload");
  expect_problem(with_workload("{name: bw, perftest: write, client: vm00, server: vm01}"),
                 "21:26 there is no perftest \"write\" | did you mean write_bw");
  expect_problem(with_workload("{name: bw, perftest: write_bw, client: vm00, server: vm01, size: 1 B}"),
                 "21:70 size does not fit here");
  expect_problem(with_workload("{name: bw, perftest: write_bw, client: vm00, server: vm01, args: [-a]}"),
                 "21:70 args is a list");
  expect_problem(with_workload("{name: bw, perftest: write_bw, client: vm00, server: vm01, arg: -a}"),
                 "21:64 workloads[0] has no key \"arg\" | did you mean args?");
  expect_problem(with_workload("{name: bw, perftest: write_bw, client: vm00, server: vm01, start: 5}"),
                 "21:71 start: \"5\" has no unit");
  expect_problem(with_workload("ib_write_bw"), "21:5 workloads[0] is a single value, not a map");
}

// perftest's own complaints point at the flags; -m is checked against the ports.
TEST(LabWorkloads, Flags) {
  expect_problem(with_workload("{name: bw, perftest: write_bw, client: vm00, server: vm01, args: --frobnicate}"),
                 "21:70 --frobnicate: perftest has no such flag");
  std::string text = with_workload("{name: bw, perftest: write_bw, client: vm00, server: vm01, args: -m 4096}");
  read_good(text);
  text.replace(text.find("10.0.0.2/24, mtu: 4200 B"), 24, "10.0.0.2/24, mtu: 1500 B");
  expect_problem(text,
                 "21:70 -m 4096: the path has a RoCE MTU of 1024 B | raise the netdev mtu to 4192 B at both ends");
}

}  // namespace
}  // namespace weft::lab
