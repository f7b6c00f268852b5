// The class of a workload's packets: the same at NICs and switches, by DSCP or by the tag's priority.
#include <deque>

#include "unit/labfile/lab_text.h"
#include "world/runner.h"

namespace weft::lab {
namespace {

constexpr std::string_view kClassLab = R"(version: 1
name: classes
nodes:
  a: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B}}}]}
  b: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.2/24, mtu: 4200 B}}}]}
  s: {kind: switch, model: sn3700c}
links:
  - endpoints: ["a:p0", "s:swp1"]
  - endpoints: ["b:p0", "s:swp2"]
qos: {profile: roce-lossless, priority_to_queue: {1: 1, 2: 2, 4: 4, 5: 5, 7: 7}}
workloads:
  - {name: w, WORKLOAD}
)";

std::string class_lab(std::string_view workload) {
  std::string text(kClassLab);
  const std::size_t at = text.find("WORKLOAD");
  return text.replace(at, 8, workload);
}

RunResult run(std::string_view text, const std::vector<std::string>& overrides = {}) {
  const auto lab = read_lab(text, "lab.yaml", overrides);
  EXPECT_TRUE(lab.has_value()) << fmt::format("{}", fmt::join(problems_of(text, overrides), "\n"));
  static std::deque<Lab> labs;  // results point into them
  labs.push_back(lab ? *lab : Lab{});
  auto result = run_lab(labs.back(), {});
  EXPECT_TRUE(result.has_value());
  return result ? *std::move(result) : RunResult{};
}

// Everything, in both directions, is in this class at both NICs and in this queue of the switch.
void expect_class(const RunResult& result, std::size_t wanted, std::string_view what) {
  for (const PortOutcome& port : result.ports) {
    for (std::size_t c = 0; c < 8; ++c) {
      const auto& traffic = port.counters.priorities[c];
      EXPECT_EQ(traffic.tx.packets > 0, c == wanted) << what << ": " << port.name << " sent in class " << c;
      EXPECT_EQ(traffic.rx.packets > 0, c == wanted) << what << ": " << port.name << " received in class " << c;
    }
  }
  for (const SwitchPortOutcome& port : result.switches[0].ports) {
    for (std::size_t c = 0; c < 8; ++c)
      EXPECT_EQ(port.counters.tx[c].packets > 0, c == wanted) << what << ": " << port.name << " queue " << c;
  }
}

// roce-lossless: DSCP 8k to 8k + 7 are priority k. ACKs go as the data do.
TEST(LabClass, FollowsDscpAtNicAndSwitch) {
  expect_class(run(class_lab("perftest: write_bw, client: a, server: b, args: -n 20")), 3, "the lab's qos");
  for (std::uint32_t dscp : {0U, 8U, 26U, 35U, 63U}) {
    const auto args = fmt::format("perftest: write_bw, client: a, server: b, args: -n 20 --tclass={}", dscp << 2);
    expect_class(run(class_lab(args)), dscp / 8, args);
    for (std::string_view kind :
         {"perftest: read_lat, client: a, server: b, args: -n 5", "perftest: send_bw, client: a, server: b, args: -n 9",
          "transfer: write, client: a, server: b", "transfer: fetch-add, client: a, server: b",
          "flows: point-to-point, pairs: [[a, b]], size: 20 kB",
          "flows: all-to-all, hosts: all, size: 9 kB, op: send"}) {
      const std::string workload = fmt::format("{}, dscp: {}", kind, dscp);
      expect_class(run(class_lab(workload)), dscp / 8, workload);
    }
  }
}

TEST(LabClass, PriorityChoosesDscp) {
  for (std::uint32_t priority = 0; priority < 8; ++priority) {
    const std::string workload = fmt::format("transfer: read, client: a, server: b, priority: {}", priority);
    expect_class(run(class_lab(workload)), priority, workload);
  }
}

TEST(LabClass, TrustPcpUsesTag) {
  const std::vector<std::string> tagged{"qos.trust=pcp", "nodes.a.nics[0].ports.p0.vlan=7",
                                        "nodes.b.nics[0].ports.p0.vlan=7"};
  expect_class(run(class_lab("transfer: write, client: a, server: b"), tagged), 3, "qos.priority");
  expect_class(run(class_lab("transfer: write, client: a, server: b, dscp: 40"), tagged), 3, "the DSCP does not count");
  expect_class(run(class_lab("transfer: write, client: a, server: b, priority: 5, dscp: 8"), tagged), 5, "priority");
  expect_class(run(class_lab("perftest: write_bw, client: a, server: b, args: -n 20 -S 2"), tagged), 2, "-S");
  expect_class(run(class_lab("perftest: write_bw, client: a, server: b, args: -n 20 -S 0"), tagged), 0, "-S 0");
}

// b stops class 3 for 0.8 ms. PFC holds the workload of that class back, 802.3x both.
TEST(LabClass, PfcStopsOneClassAndPauseAll) {
  const std::string text =
      class_lab("flows: point-to-point, pairs: [[a, b]], size: 100 kB, dscp: 26, start: 10 us") +
      "  - {name: other, flows: point-to-point, pairs: [[a, b]], size: 100 kB, dscp: 8, start: 10 us}\n"
      "faults: [{link: \"b:p0\", action: pause-storm, priority: 3, end: 800 us}]\n";
  for (const char* mode : {"pfc", "pause"}) {
    for (bool direct : {false, true}) {
      std::vector<std::string> overrides{std::string("qos.pfc.mode=") + mode};
      if (direct) overrides.insert(overrides.end(), {"links=[{endpoints: [a:p0, b:p0]}]"});
      const RunResult result = run(text, overrides);
      const auto end_ps = [&](std::size_t i) {
        return result.workloads[i].as<workload::FlowsOutcome>()->flows.front().row.end_ps;
      };
      EXPECT_GT(end_ps(0), us(700)) << mode;
      if (std::string_view(mode) == "pfc") {
        EXPECT_LT(end_ps(1), us(100)) << "class 1 goes on";
      } else {
        EXPECT_GT(end_ps(1), us(700)) << "802.3x stops the whole link";
      }
    }
  }
}

TEST(LabClass, RejectsBadValues) {
  const auto problem = [](std::string_view workload, const std::vector<std::string>& overrides = {}) {
    const auto lines = problems_of(class_lab(workload), overrides);
    EXPECT_EQ(lines.size(), 1U) << workload << fmt::format("{}", fmt::join(lines, "\n"));
    return lines.empty() ? std::string() : lines.front();
  };
  const auto has = [](const std::string& line, std::string_view text) {
    EXPECT_NE(line.find(text), std::string::npos) << line;
  };
  has(problem("transfer: write, client: a, server: b, dscp: 64"), "dscp");
  has(problem("transfer: write, client: a, server: b, priority: 8"), "priority");
  has(problem("transfer: write, client: a, server: b, dscp: -1"), "dscp");
  has(problem("transfer: write, client: a, server: b, dscp: 8, priority: 1"), "a goes by the DSCP");
  has(problem("flows: all-to-all, hosts: all, size: 1 kB, priority: 5",
              {"qos.profile=sonic-default", "qos.dscp_to_priority={46: 1}"}),
      "no DSCP of a maps to priority 5");
  has(problem("perftest: write_bw, client: a, server: b, dscp: 8, args: --tclass=0"), "--tclass=0 and dscp 8");
  has(problem("perftest: write_bw, client: a, server: b, args: -S 3"), "-S 3: a goes by the DSCP");
  has(problem("perftest: write_bw, client: a, server: b, args: -S 8"), "-S 8");
  has(problem("transfer: write, client: a, server: b", {"qos.trust=pcp"}), "a:p0 sends no VLAN tag");
  has(problem("program: [{node: a, command: true}], dscp: 8"), "dscp does not fit here");
}

// What -d, -i, -x and -m name must be there.
TEST(LabClass, ChecksNamesInPerftestFlags) {
  const auto problems = [](std::string_view args) {
    return problems_of(
        good_lab_with("server: vm01}\n  - {name: w", fmt::format("server: vm01, args: {}}}\n  - {{name: w", args)));
  };
  for (std::string_view good : {"-d mlx5_0", "-i 1", "-x 3", "-d mlx5_0 -i 1 -x 3 -p 18515 -F"})
    EXPECT_TRUE(problems(good).empty()) << good;
  EXPECT_EQ(problems("-d bogus_9"),
            std::vector<std::string>{"21:70 -d bogus_9: vm00:p0 is mlx5_0 | -d names the client's device; vm00 has "
                                     "mlx5_0 (p0), mlx5_1 (p1)"});
  EXPECT_EQ(problems("-d mlx5_1").size(), 1U);
  for (std::string_view bad : {"-x 0", "-x 1", "-x 2", "-x 4", "-i 2", "-i 0"})
    EXPECT_EQ(problems(bad).size(), 1U) << bad;
  EXPECT_EQ(problems("-x 0"), std::vector<std::string>{"21:70 -x 0: GIDs 0 and 2 are RoCE v1, which is not modelled | "
                                                       "leave it out, or write -x 3, RoCE v2 with the port's address"});
}

// Two cables: -d chooses the port.
TEST(LabClass, DeviceFlagChoosesPort) {
  std::string text = good_lab_with("links:\n", "links:\n  - endpoints: [\"vm00:p1\", \"vm01:p1\"]\n");
  text.erase(text.find("  - {name: w"));
  for (std::uint32_t port : {0U, 1U}) {
    const Lab lab = read_good(text, {fmt::format("workloads[bw].args=-d mlx5_{}", port)});
    EXPECT_EQ(lab.workloads[0].client.port, port);
    EXPECT_EQ(lab.workloads[0].server.port, port);
  }
  EXPECT_EQ(problems_of(text, {"workloads[bw].args=-d mlx5_2"}).size(), 1U);
  EXPECT_EQ(problems_of(text, {"workloads[bw].args=-d mlx5_1", "workloads[bw].client=vm00:p0"}).size(), 1U);
}

TEST(LabClass, RejectsOffloadWithoutTwoSubnets) {
  const std::string text = class_lab("transfer: write, client: a, server: b");
  const auto all = problems_of(text, {"routing.offload=false"});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_NE(all[0].find("offload: false has no effect"), std::string::npos) << all[0];
  EXPECT_EQ(problems_of(text, {"nodes.s.routing.offload=false"}).size(), 1U);
  EXPECT_TRUE(problems_of(text, {"routing.offload=true"}).empty());
  EXPECT_TRUE(problems_of(text, {"routing.offload=false", "nodes.b.nics[0].ports.p0.address=10.0.1.2/24"}).empty());
}

TEST(LabClass, TemplateSwitchAndHostAcceptSet) {
  const std::string text =
      "version: 1\nname: t\nfabric: {template: leaf-spine, hosts: 4, leaves: 2, spines: 1, switch: sn3700c, host: "
      "{nic: "
      "cx5-100g}}\n";
  const Lab lab =
      read_good(text, {"nodes={leaf0: {set: {buffer: 16 MB, max_mtu: 4096 B}}, h1: {set: {post_loop: 7 ns}}}"});
  const Lab plain = read_good(text);
  EXPECT_EQ(lab.switches[0].model.buffer_B, 16'000'000);
  EXPECT_EQ(lab.switches[0].ports[0].mtu_B, 4096);
  EXPECT_EQ(lab.switches[1].model.buffer_B, plain.switches[1].model.buffer_B);
  EXPECT_EQ(lab.hosts[1].model.post_loop_ps, ns(7));
  EXPECT_EQ(lab.hosts[0].model.post_loop_ps, plain.hosts[0].model.post_loop_ps);
  EXPECT_EQ(problems_of(text, {"nodes.leaf0.set.bufer=16 MB"}).size(), 1U);
}

}  // namespace
}  // namespace weft::lab
