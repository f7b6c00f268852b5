// weft inspect and weft doctor as a user meets them: on this machine, with files, and on nodes of a world, which look
// like hosts (docs/node.md).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "interop/live_world.h"
#include "support/cli.h"
#include "support/doctor_bundles.h"

namespace weft::interop {
namespace {

using Json = nlohmann::json;

class DoctorCommand : public support::Cli {
 protected:
  // What a shell without weft does with it.
  int run(const std::string& command) const {
    const int raw = std::system(("cd " + directory_.string() + " && " + command).c_str());
    return WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
  }
  static std::string data(const std::string& name) { return (support::DoctorCase::data() / name).string(); }
  // The bundles of a case, as files.
  std::string written(const std::string& name) {
    std::string names;
    for (const auto& [host, text] :
         support::DoctorCase(support::DoctorCase::data() / "cases" / (name + ".txt")).bundles()) {
      write(host + ".txt", text);
      names += " " + host + ".txt";
    }
    return names;
  }
};

TEST_F(DoctorCommand, ScriptPassesShellcheck) {
  ASSERT_EQ(weft("inspect --script").status, 0);
  if (run("command -v shellcheck >/dev/null") != 0) GTEST_SKIP() << "shellcheck is not installed";
  ASSERT_EQ(run("cp out inspect.sh && shellcheck --shell=sh inspect.sh >said"), 0)
      << support::slurp(directory_ / "said");
}

// Whatever shell a host has, and with no tool of RDMA at all.
TEST_F(DoctorCommand, ScriptRunsInAnyShell) {
  ASSERT_EQ(weft("inspect --script").status, 0);
  ASSERT_EQ(run("cp out inspect.sh"), 0);
  for (const char* shell : {"sh", "bash", "busybox sh"}) {
    SCOPED_TRACE(shell);
    ASSERT_EQ(run(std::string(shell) + " inspect.sh >bundle 2>said"), 0);
    EXPECT_EQ(support::slurp(directory_ / "said"), "");
    EXPECT_NE(weft("doctor bundle").status, 2) << support::slurp(directory_ / "err");
  }
}

TEST_F(DoctorCommand, ScriptLeavesSecretsOfSwitchOut) {
  ASSERT_EQ(weft("inspect --script").status, 0);
  std::string config = support::slurp(support::DoctorCase::data() / "config_db.json");
  config.insert(config.find('{') + 1, "\"TACPLUS\": {\"global\": {\"passkey\": \"hidden\"}}, ");
  write("config_db.json", config);
  // As on a switch, with the file elsewhere and no `show`.
  ASSERT_EQ(run("sed 's|-r /etc/sonic/|-r |; s|open(\"/etc/sonic/|open(\"|' out >switch.sh && sh switch.sh >leaf.txt"),
            0);
  const std::string bundle = support::slurp(directory_ / "leaf.txt");
  EXPECT_EQ(bundle.find("hidden"), bundle.npos);
  EXPECT_NE(bundle.find("\"pfc_enable\": \"3\""), bundle.npos);
  const support::Ran ran = weft("doctor --json leaf.txt");
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(Json::parse(ran.out)["switches"][0], "leaf1");
}

TEST_F(DoctorCommand, InspectsThisHost) {
  const support::Ran ran = weft("inspect --out bundle");
  ASSERT_EQ(ran.status, 0) << ran.err;
  const std::string bundle = support::slurp(directory_ / "bundle");
  for (const char* section : {"\n=== uname -a\n", "\n=== files\n", "\n=== end\n"})
    EXPECT_NE(bundle.find(section), std::string::npos) << section;
  const support::Ran here = weft("doctor --json");
  ASSERT_TRUE(here.status == 0 || here.status == 1) << here.err;
  EXPECT_EQ(Json::parse(here.out)["healthy"], here.status == 0);
  EXPECT_EQ(weft("inspect --out nowhere/bundle").status, 1);
}

TEST_F(DoctorCommand, ExitStatusSaysWhetherHealthy) {
  EXPECT_EQ(weft("doctor " + data("gpu01.txt") + " " + data("leaf1.txt")).status, 0);
  EXPECT_EQ(weft("doctor " + data("config_db.json")).status, 0);
  const support::Ran found = weft("doctor" + written("mtu-chain"));
  EXPECT_EQ(found.status, 1);
  EXPECT_NE(found.out.find("1. gpu01 mlx5_0 (ens1f0np0): MTU larger than the next hop's [mtu-chain, broken]"),
            found.out.npos)
      << found.out;
  EXPECT_NE(found.out.find("fix:  on leaf1: config interface mtu Ethernet0 9100"), found.out.npos) << found.out;
  const support::Ran json = weft("doctor --json" + written("mtu-chain"));
  const Json parsed = Json::parse(json.out);
  EXPECT_EQ(parsed["findings"][0]["id"], "mtu-chain");
  EXPECT_EQ(parsed["findings"][0]["evidence"][0]["file"], "gpu01.txt");
}

TEST_F(DoctorCommand, RejectsBrokenInput) {
  write("cut.txt", "# weft bundle 1\n# host: a\n=== lsmod\n");
  const support::Ran cut = weft("doctor cut.txt");
  EXPECT_EQ(cut.status, 2);
  EXPECT_EQ(cut.out, "");
  EXPECT_NE(cut.err.find("cut.txt:3:1: the bundle is cut short"), cut.err.npos) << cut.err;
  EXPECT_EQ(weft("doctor nowhere").status, 2);
  EXPECT_EQ(weft("doctor /dev/zero").status, 2);
  std::filesystem::create_directory(directory_ / "empty");
  EXPECT_EQ(weft("doctor empty").status, 2);
  EXPECT_EQ(weft("doctor --pairs empty").status, 2);
  EXPECT_EQ(weft("doctor --pairs empty cut.txt").status, 2);
  const support::Ran json = weft("doctor --json cut.txt");
  EXPECT_EQ(json.status, 2);
  EXPECT_EQ(Json::parse(json.out)["errors"][0]["line"], 3);
}

TEST_F(DoctorCommand, PairsOfRealResults) {
  std::filesystem::create_directory(directory_ / "pairs");
  const char* const names[] = {"a--b", "a--c", "b--c", "b--a", "c--a", "c--b"};
  for (const char* name : names)
    ASSERT_EQ(weft("perftest " + lab("two-node-25g") + " write_bw -n 200 --report_gbits --json",
                   std::string(">pairs/") + name + ".json")
                  .status,
              0);
  EXPECT_EQ(weft("doctor --pairs pairs").status, 0);
  EXPECT_EQ(weft("doctor --pairs pairs --line-rate 25").status, 0);
  EXPECT_EQ(weft("doctor --pairs pairs --line-rate 100").status, 1);
  ASSERT_EQ(
      weft("perftest " + lab("two-node-25g-mtu1500") + " write_bw -n 200 --report_gbits --json", ">pairs/b--c.json")
          .status,
      0);
  const support::Ran ran = weft("doctor --pairs pairs");
  EXPECT_EQ(ran.status, 1) << ran.out;
  EXPECT_NE(ran.out.find("odd: b -> c:"), ran.out.npos) << ran.out;
}

// What the world's nodes say; what the rest of this machine adds (CPUs, memory, log) is left out.
std::vector<std::string> findings_of_ports(const std::string& json) {
  std::vector<std::string> ids;
  const Json parsed = Json::parse(json);
  for (const Json& finding : parsed["findings"]) {
    const std::string where = finding["where"];
    if (where.find(' ') != where.npos) ids.push_back(finding["id"]);
  }
  return ids;
}

TEST(DoctorOnNodes, FindsWhatWasBroken) {
  const Live world("live/one-switch-100g.yaml");
  const auto inspect_all = [&] {
    for (const char* node : {"h0", "h1"}) {
      const std::string name(node);
      ASSERT_EQ(world.shell("exec " + name + " -- " WEFT_BINARY " inspect", name), 0) << world.output(name);
    }
  };
  const auto diagnose_all = [&] {
    gear::SiteFiles files;
    for (const char* node : {"h0", "h1"}) gear::add_to_site(world.output(node), node, files);
    for (const gear::FileProblem& problem : files.problems) ADD_FAILURE() << problem.problem.message;
    return findings_of_ports(gear::diagnosis_json(gear::diagnose(files.site)));
  };
  inspect_all();
  EXPECT_NE(world.output("h0").find("# host: h0\n"), std::string::npos);
  EXPECT_NE(world.output("h0").find("=== ethtool -S p0\n"), std::string::npos);
  EXPECT_EQ(diagnose_all(), std::vector<std::string>());
  ASSERT_EQ(world.shell("link h1:p0 down"), 0);
  inspect_all();
  EXPECT_EQ(diagnose_all(), std::vector<std::string>{"link-down"});
  ASSERT_EQ(world.shell("link h1:p0 up"), 0);
  // On the node itself, as on a host.
  const int status = world.shell("exec h1 -- " WEFT_BINARY " doctor --json");
  EXPECT_TRUE(status == 0 || status == 1) << world.output();
  EXPECT_EQ(Json::parse(world.output())["hosts"][0], "h1");
}

TEST(DoctorOnNodes, SeesLabsSettings) {
  // An interface MTU of 1500, and no PFC.
  const Live world("two-node-25g-mtu1500.yaml");
  ASSERT_EQ(world.shell("exec vm00 -- " WEFT_BINARY " inspect", "vm00"), 0);
  gear::SiteFiles files;
  gear::add_to_site(world.output("vm00"), "vm00", files);
  ASSERT_TRUE(files.problems.empty());
  const auto ids = findings_of_ports(gear::diagnosis_json(gear::diagnose(files.site)));
  ASSERT_GE(ids.size(), 2u);
  EXPECT_EQ(ids[0], "mtu-small");
  EXPECT_EQ(ids[1], "pfc-off");
}

}  // namespace
}  // namespace weft::interop
