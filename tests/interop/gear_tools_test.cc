// What `weft emit` writes, given to the programs that would read it: vtysh and running FRR daemons, shellcheck,
// systemd-analyze, a JSON schema, dcb, tc and ip in a namespace.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "gear/emit/routes.h"
#include "interop/interop_support.h"
#include "support/gear_labs.h"
#include "support/yaml_json.h"

namespace weft::interop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClos = WEFT_SOURCE_DIR "/labs/gear/clos-2x4.yaml";

// weft emit into a directory of its own; the files with this ending.
std::vector<std::string> emit_to(const std::string& out, const std::string& arguments, const std::string& ending) {
  const auto ran =
      run_command(std::string(WEFT_BINARY " emit ") + arguments + " --out " + shell_quoted(out) + " 2>/dev/null");
  EXPECT_EQ(ran.status, 0) << arguments;
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(out)) {
    if (entry.is_regular_file() && entry.path().string().ends_with(ending)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> targets_of_clos() {
  const std::string lab = kClos;
  return {lab + " --for sonic",
          lab + " --for sonic --numbered",
          lab + " --for nvue",
          lab + " --for linux",
          lab + " --for host",
          lab + " --for host --stack in-tree --network nmcli",
          lab + " --for host --network ip",
          std::string(WEFT_SOURCE_DIR "/labs/fabric/bond.yaml --for host --network nmcli"),
          std::string(WEFT_SOURCE_DIR "/labs/fabric/bond.yaml --for host --network ip"),
          std::string(WEFT_SOURCE_DIR "/labs/fabric/bond.yaml --for nvue"),
          std::string(WEFT_SOURCE_DIR "/labs/fabric/bond.yaml --for linux"),
          std::string(WEFT_SOURCE_DIR "/labs/live/e810-and-cx6.yaml --for host"),
          std::string(WEFT_SOURCE_DIR "/labs/forwarder/bridge-red-dcqcn.yaml --for linux")};
}

TEST(GearScripts, PassShellcheck) {
  ASSERT_TRUE(has_program("shellcheck"));
  std::size_t scripts = 0;
  for (const std::string& arguments : targets_of_clos()) {
    TempDir dir;
    std::string all;
    for (const std::string& file : emit_to(dir.file("out"), arguments, ".sh")) {
      all += " " + shell_quoted(file);
      EXPECT_NE(fs::status(file).permissions() & fs::perms::owner_exec, fs::perms::none) << file;
      ++scripts;
    }
    const auto checked = run_command("shellcheck -s sh" + all + " 2>&1");
    EXPECT_EQ(checked.status, 0) << arguments << "\n" << checked.output;
  }
  EXPECT_GT(scripts, 50u);
  TempDir dir;
  std::ofstream(dir.file("bad.sh")) << "#!/bin/sh\nif [ $x == 1 ]; then echo; fi\n";
  EXPECT_NE(run_command("shellcheck " + dir.file("bad.sh") + " 2>&1").status, 0);
}

TEST(GearUnits, PassSystemdAnalyze) {
  ASSERT_TRUE(has_program("systemd-analyze"));
  TempDir dir;
  const auto units = emit_to(dir.file("out"), std::string(kClos) + " --for host", ".service");
  EXPECT_EQ(units.size(), 8u);
  for (const std::string& unit : units) {
    const auto checked = run_command("systemd-analyze verify " + shell_quoted(unit) + " 2>&1");
    EXPECT_EQ(checked.output.find(fs::path(unit).filename().string()), std::string::npos) << checked.output;
    EXPECT_EQ(checked.status, 0) << checked.output;
  }
}

// The schema of lab files, made by weft, in another program's hands: it is draft-07, takes every ready lab, and refuses
// one with a key that there is not.
TEST(LabSchema, TakesReadyLabs) {
  TempDir dir;
  ASSERT_EQ(run_command(WEFT_BINARY " schema >" + shell_quoted(dir.file("schema.json"))).status, 0);
  const std::string check =
      "python3 -c 'import json, jsonschema, sys\n"
      "schema = json.load(open(sys.argv[1]))\n"
      "jsonschema.Draft7Validator.check_schema(schema)\n"
      "for name in sys.argv[2:]: jsonschema.Draft7Validator(schema).validate(json.load(open(name)))' " +
      shell_quoted(dir.file("schema.json"));
  std::string all;
  nlohmann::ordered_json last;
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(WEFT_SOURCE_DIR "/labs")) {
    if (entry.path().extension() != ".yaml") continue;
    lab::ProblemList problems;
    const auto text = read_file(entry.path().string(), 1 << 20);
    ASSERT_TRUE(text) << entry.path();
    const auto root = lab::parse_yaml(*text, problems);
    ASSERT_TRUE(root) << entry.path();
    const std::string file = dir.file(std::to_string(count++) + ".json");
    std::ofstream(file) << (last = test::to_json(*root));
    all += " " + shell_quoted(file);
  }
  EXPECT_GE(count, 16);
  const auto checked = run_command(check + all + " 2>&1");
  EXPECT_EQ(checked.status, 0) << checked.output;
  last["colour"] = 1;
  std::ofstream(dir.file("bad.json")) << last;
  EXPECT_NE(run_command(check + " " + shell_quoted(dir.file("bad.json")) + " 2>&1").status, 0);
}

TEST(GearSonic, MeetsSchema) {
  if (!has_program("python3") || run_command("python3 -c 'import jsonschema' 2>/dev/null").status != 0)
    FAIL() << "python3-jsonschema is not installed";
  const std::string check =
      "python3 -c 'import json, jsonschema, sys\n"
      "schema = jsonschema.Draft7Validator(json.load(open(sys.argv[1])))\n"
      "for name in sys.argv[2:]: schema.validate(json.load(open(name)))' " WEFT_SOURCE_DIR
      "/schema/config_db.schema.json";
  for (const char* more : {"", " --numbered"}) {
    TempDir dir;
    std::string all;
    const auto files = emit_to(dir.file("out"), std::string(kClos) + " --for sonic" + more, "config_db.json");
    EXPECT_EQ(files.size(), 6u);
    for (const std::string& file : files) all += " " + shell_quoted(file);
    const auto checked = run_command(check + all + " 2>&1");
    EXPECT_EQ(checked.status, 0) << checked.output;
  }
  for (const char* lab : {"lag", "bond", "telemetry-and-mirrors"}) {
    TempDir dir;
    std::string all;
    for (const std::string& file :
         emit_to(dir.file("out"), std::string(WEFT_SOURCE_DIR "/labs/fabric/") + lab + ".yaml --for sonic",
                 "config_db.json"))
      all += " " + shell_quoted(file);
    const auto checked = run_command(check + all + " 2>&1");
    EXPECT_EQ(checked.status, 0) << lab << checked.output;
  }
  TempDir dir;
  std::ofstream(dir.file("bad.json")) << R"({"PORT": {"Ethernet0": {"speed": 100000}}})";
  EXPECT_NE(run_command(check + " " + dir.file("bad.json") + " 2>&1").status, 0);
}

TEST(GearFrr, PassesVtysh) {
  if (!has_program("vtysh")) GTEST_SKIP() << "frr is not installed";
  TempDir dir;
  std::ofstream(dir.file("vtysh.conf")).close();
  const auto check = [&](const std::string& file) {
    return run_command("vtysh -C --config_dir " + shell_quoted(dir.file("")) + " -f " + shell_quoted(file) + " 2>&1");
  };
  std::size_t files = 0;
  for (const char* target : {"frr", "frr --numbered", "sonic", "linux", "containerlab"}) {
    for (const std::string& file : emit_to(dir.file(target), std::string(kClos) + " --for " + target, "frr.conf")) {
      const auto checked = check(file);
      EXPECT_EQ(checked.status, 0) << file << "\n" << checked.output;
      ++files;
    }
  }
  EXPECT_EQ(files, 30u);
  std::ofstream(dir.file("bad.conf")) << "router bgp 65001\n neighbour swp1 interface remote-as external\n";
  EXPECT_NE(check(dir.file("bad.conf")).status, 0);
}

void write_program(const std::string& path, const std::string& body) {
  std::ofstream(path) << "#!/bin/sh\n" << body;
  fs::permissions(path, fs::perms::owner_all);
}

// load.sh without the image: a docker that looks up the bound file of its container, reads the tables as JSON and the
// routing with vtysh.
TEST(GearSonicVs, LoadScriptNamesBoundFiles) {
  if (!has_program("vtysh")) GTEST_SKIP() << "frr is not installed";
  TempDir dir;
  std::ofstream(dir.file("vtysh.conf")).close();
  const std::string out = dir.file("out");
  emit_to(out, std::string(kClos) + " --for containerlab --sonic-vs", ".sh");
  EXPECT_EQ(run_command("shellcheck -s sh " + shell_quoted(out + "/load.sh") + " 2>&1").output, "");
  fs::create_directory(dir.file("bin"));
  write_program(dir.file("bin/docker"),
                "[ \"$1\" = exec ] || exit 1\nnode=${2#clab-clos-2x4-}\nfor last; do :; done\n"
                "file=" +
                    out +
                    "/$node/${last#/etc/weft/}\n"
                    "grep -q \"        - $node/${last#/etc/weft/}:$last\" " +
                    out +
                    "/clos-2x4.clab.yml || exit 2\n"
                    "case \"$3 $4\" in\n'config load') python3 -m json.tool \"$file\" > /dev/null || exit 3 ;;\n"
                    "'vtysh -f') vtysh -C --config_dir " +
                    dir.file("") +
                    " -f \"$file\" || exit 4 ;;\n*) exit 5 ;;\nesac\n"
                    "echo \"$node $3\" >> " +
                    dir.file("log") + "\n");
  const std::string load = "PATH=" + shell_quoted(dir.file("bin")) + ":$PATH sh " + shell_quoted(out + "/load.sh");
  const auto loaded = run_command(load + " 2>&1");
  EXPECT_EQ(loaded.status, 0) << loaded.output;
  EXPECT_EQ(run_command("grep -c config " + dir.file("log")).output, "6\n");
  EXPECT_EQ(run_command("grep -c vtysh " + dir.file("log")).output, "6\n");
  // A node that does not load ends it.
  std::ofstream(out + "/leaf0/config_db.json") << "{";
  EXPECT_NE(run_command(load + " 2>&1").status, 0);
}

// all-pairs.sh with hosts that are not there: ssh answers as perftest does, and the doctor reads what it left.
TEST(GearPairs, ScriptMakesDirectoryOfDoctor) {
  TempDir dir;
  const std::string out = dir.file("out");
  emit_to(out, std::string(kClos) + " --for host", ".sh");
  EXPECT_EQ(run_command("shellcheck -s sh " + shell_quoted(out + "/job/all-pairs.sh") + " 2>&1").output, "");
  fs::create_directory(dir.file("bin"));
  write_program(dir.file("bin/sleep"), "exit 0\n");
  write_program(dir.file("bin/ssh"),
                "rate=92.1\n[ \"$2\" = h3 ] && rate=40.5\ncase $3 in\n*h9*) exit 1 ;;\n*out_json_file*)\n"
                "printf '{\"test_info\": {\"test\": \"RDMA_Write_BW\"}, \"results\": {\"MsgSize\": 65536, "
                "\"n_iterations\": 5000, \"BW_peak\": %s, \"BW_average\": %s, \"MsgRate\": 0.18}}\\n' $rate $rate ;;\n"
                "esac\n");
  const auto ran = run_command("cd " + shell_quoted(dir.file("")) + " && PATH=" + shell_quoted(dir.file("bin")) +
                               ":$PATH sh out/job/all-pairs.sh results 2>&1");
  EXPECT_EQ(ran.status, 0) << ran.output;
  const auto doctor =
      run_command(WEFT_BINARY " doctor --pairs " + shell_quoted(dir.file("results")) + " --line-rate 100 2>&1");
  EXPECT_EQ(doctor.status, 1) << doctor.output;
  EXPECT_NE(doctor.output.find("h3"), std::string::npos) << doctor.output;
  EXPECT_EQ(run_command("ls " + shell_quoted(dir.file("results")) + " | wc -l").output, "56\n");
}

// What frr_clos.sh builds and waits for, from the lab's own plan.
void write_plan(const lab::Lab& lab, std::ostream& out) {
  const gear::RoutingPlan plan = gear::routing_plan(lab);
  std::vector<std::string> subnets;
  for (const auto& router : plan.routers) {
    for (const auto& vlan : router.vlans) subnets.push_back(vlan.subnet);
  }
  for (std::size_t i = 0; i < lab.switches.size(); ++i) out << "switch " << lab.switches[i].name << "\n";
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) {
    const auto& port = lab.hosts[h].nics[0].ports[0];
    out << "host " << lab.hosts[h].name << " " << port.name << " " << lab::to_string(port.address) << "/"
        << port.prefix_bits << " " << gear::gateway_of(lab, plan, {h, 0, 0}) << "\n";
  }
  for (std::size_t i = 0; i < lab.switches.size(); ++i) {
    for (const auto& vlan : plan.routers[i].vlans) {
      out << "bridge " << lab.switches[i].name << " vlan" << vlan.id;
      for (std::uint32_t port : vlan.ports) out << " " << lab.switches[i].ports[port - 1].name;
      out << "\n";
    }
  }
  for (const auto& link : lab.links) {
    out << "link";
    for (const auto& end : {link.a, link.b}) {
      std::string name = port_name(lab, end);
      name[name.find(':')] = ' ';
      out << " " << name;
    }
    out << "\n";
  }
  for (std::size_t i = 0; i < lab.switches.size(); ++i) {
    const bool leaf = !plan.routers[i].vlans.empty();
    out << "peers " << lab.switches[i].name << " " << plan.routers[i].links.size() << "\n";
    for (const std::string& subnet : subnets) {
      if (leaf && plan.routers[i].vlans[0].subnet == subnet) continue;
      // A leaf reaches every other leaf over each spine, a spine over the one cable.
      out << "route " << lab.switches[i].name << " " << subnet << " " << (leaf ? plan.routers[i].links.size() : 1)
          << "\n";
    }
  }
  out << "ping " << lab.hosts.front().name << " " << lab::to_string(lab.hosts.back().nics[0].ports[0].address) << "\n";
}

class GearClos : public testing::TestWithParam<const char*> {};

// Two spines and four leaves: all sessions, ECMP as planned, and a ping from the first host to the last.
TEST_P(GearClos, ComesUp) {
  if (!has_program("vtysh")) GTEST_SKIP() << "frr is not installed";
  TempDir dir;
  emit_to(dir.file("clos"), std::string(kClos) + " --for frr" + GetParam(), "frr.conf");
  const auto lab = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  std::ofstream plan(dir.file("clos/plan.txt"));
  write_plan(lab, plan);
  plan.close();
  const auto ran =
      run_command(WEFT_SOURCE_DIR "/tests/interop/frr_clos.sh " + shell_quoted(dir.file("clos")) + " 2>&1");
  if (ran.status == 77) GTEST_SKIP() << "network namespaces are not allowed here";
  ASSERT_EQ(ran.status, 0) << ran.output;
  std::size_t lines = 0;
  for (const std::string& line : split(support::read_file(dir.file("clos/plan.txt")), '\n')) {
    const bool expected = line.starts_with("peers ") || line.starts_with("route ");
    if (!expected && !line.starts_with("ping ")) continue;
    ++lines;
    EXPECT_NE(ran.output.find(line + (expected ? "\n" : " ok\n")), std::string::npos) << line << "\n" << ran.output;
  }
  EXPECT_EQ(lines, 6u + 20u + 1u);
}
INSTANTIATE_TEST_SUITE_P(Routing, GearClos, testing::Values("", " --numbered"),
                         [](const auto& each) { return std::string(each.index == 0 ? "Unnumbered" : "Numbered"); });

// dcb, tc and ip in a namespace with interfaces that have neither PFC nor ETS: what the kernel refuses is no matter,
// what the tools cannot parse is.
TEST(GearLinux, CommandsParse) {
  TempDir dir;
  emit_to(dir.file("out"), std::string(kClos) + " --for linux leaf0", ".sh");
  emit_to(dir.file("out"), std::string(kClos) + " --for host h0 --stack in-tree --network ip", ".sh");
  const std::string inside =
      "for port in swp1 swp2 swp31 swp32 p0; do ip link add $port type veth peer name peer$port 2>/dev/null || exit "
      "77; done; "
      "cat " +
      dir.file("out") + "/leaf0/bridge.sh " + dir.file("out") + "/h0/network.sh " + dir.file("out") +
      "/h0/roce-qos.sh | grep -E '^(dcb|tc|ip) ' | while read -r line; do echo \"+ $line\"; $line 2>&1; done";
  const std::string as_root = geteuid() == 0 ? "" : " --user --map-root-user";
  const auto ran = run_command("unshare" + as_root + " --net sh -c " + shell_quoted(inside) + " 2>&1");
  if (ran.status == 77 || ran.output.find("unshare: ") == 0) GTEST_SKIP() << "network namespaces are not allowed here";
  EXPECT_NE(ran.output.find("+ dcb pfc set dev swp1"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("+ tc qdisc replace dev swp32 root"), std::string::npos);
  for (const char* complaint :
       {"What is", "is unknown, try", "Illegal", "Invalid argument:", "Usage:", "Expected", "not complete", "parse"}) {
    EXPECT_EQ(ran.output.find(complaint), std::string::npos) << complaint << "\n" << ran.output;
  }
}

TEST(GearCli, WritesNotesAndProblems) {
  const auto notes = run_command(std::string(WEFT_BINARY " emit ") + kClos + " --for nvue leaf0 2>&1 >/dev/null");
  EXPECT_EQ(notes.output,
            "leaf0: not expressed in nvue: NVUE has no restoration time of the watchdog: it looks at each poll\n");
  const auto wrong = run_command(std::string(WEFT_BINARY " emit ") + kClos + " --for eos leaf0 2>&1");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(
      wrong.output.find("clos-2x4.yaml:16:11: leaf0: sn3700c does not run eos\n  it runs sonic, nvue, linux, frr\n"),
      std::string::npos)
      << wrong.output;
  const auto json = run_command(std::string(WEFT_BINARY " emit ") + kClos + " --for frr leaf0 --json");
  const auto parsed = nlohmann::json::parse(json.output);
  EXPECT_EQ(parsed["files"][0]["path"], "leaf0/frr.conf");
  EXPECT_EQ(parsed["notes"].size(), 1u);
  TempDir dir;
  emit_to(dir.file("out"), std::string(kClos) + " --for sonic leaf0", ".json");
  const std::string config = dir.file("out/leaf0/config_db.json");
  const auto same = run_command(std::string(WEFT_BINARY " import ") + config + " --against " + kClos);
  EXPECT_EQ(same.status, 0) << same.output;
  const auto other = run_command(std::string(WEFT_BINARY " import ") + config +
                                 " --against " WEFT_SOURCE_DIR "/labs/live/leaf-spine-100g.yaml 2>&1");
  EXPECT_EQ(other.status, 1) << other.output;
  EXPECT_NE(other.output.find("watchdog: "), std::string::npos) << other.output;
}

}  // namespace
}  // namespace weft::interop
