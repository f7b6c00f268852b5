// What weft plan writes, read by the programs that it is for: libvirt's schema and parser, shellcheck, systemd, bash,
// lstopo; and by weft itself.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/cli.h"

namespace weft::interop {
namespace {

namespace fs = std::filesystem;

class Plan : public support::Cli {
 protected:
  static bool has_tool(const std::string& name) {
    return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
  }
  // Status and output of a command in the test's directory.
  support::Ran shell(const std::string& command) {
    support::Ran ran;
    const int raw = std::system(("cd " + directory_.string() + " && { " + command + "; } >tool 2>&1").c_str());
    ran.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
    ran.out = support::slurp(directory_ / "tool");
    return ran;
  }
  support::Ran plan_vms(const std::string& more = "") {
    return weft("plan vms " + std::string(WEFT_SOURCE_DIR) +
                "/labs/hosts/epyc-7551p.txt --vm vm00=gpu0,nic0 --vm vm01=gpu1,nic1 --out vms " + more);
  }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((directory_ / path).parent_path());
    write(path, text + "\n");
  }
};

TEST_F(Plan, LibvirtTakesDomains) {
  if (!has_tool("virsh") || !has_tool("virt-xml-validate")) GTEST_SKIP() << "no libvirt-clients";
  for (const char* more : {"", "--guest-smt --emulator host --pages 2M"}) {
    ASSERT_EQ(plan_vms(more).status, 0);
    for (const std::string vm : {"vm00", "vm01"}) {
      const auto valid = shell("virt-xml-validate vms/" + vm + ".xml domain");
      EXPECT_EQ(valid.status, 0) << valid.out;
      // The test driver has domains of its own type only; all the rest is parsed as for KVM.
      const auto defined = shell("sed \"s/type='kvm'/type='test'/\" vms/" + vm +
                                 ".xml >test.xml && virsh -c test:///default 'define test.xml; vcpuinfo " + vm +
                                 "; numatune " + vm + "; dumpxml " + vm + "'");
      EXPECT_EQ(defined.status, 0) << defined.out;
      EXPECT_NE(defined.out.find("Domain '" + vm + "' defined"), std::string::npos) << defined.out;
      EXPECT_NE(defined.out.find("<vcpupin vcpu='27' cpuset='" + std::string(vm == "vm00" ? "55" : "61") + "'/>"),
                std::string::npos)
          << defined.out;
    }
  }
}

TEST_F(Plan, ScriptsPassShellcheck) {
  if (!has_tool("shellcheck")) GTEST_SKIP() << "no shellcheck";
  ASSERT_EQ(plan_vms().status, 0);
  const auto checked = shell("shellcheck vms/*.sh && for f in vms/*.sh; do bash -n $f || exit 1; done");
  EXPECT_EQ(checked.status, 0) << checked.out;
}

TEST_F(Plan, SystemdTakesUnit) {
  if (!has_tool("systemd-analyze")) GTEST_SKIP() << "no systemd";
  ASSERT_EQ(plan_vms().status, 0);
  // Its program is not installed here.
  const auto verified = shell(
      "sed 's#/usr/local/sbin/weft-vfio-bind#/bin/true#' vms/weft-vfio.service >weft-vfio.service && "
      "systemd-analyze verify ./weft-vfio.service");
  EXPECT_EQ(verified.status, 0) << verified.out;
  EXPECT_EQ(verified.out, "");
}

// The check passes on a tree of /sys that is as planned, and names what is not.
TEST_F(Plan, CheckScriptFindsDifferences) {
  ASSERT_EQ(plan_vms().status, 0);
  const std::string cpu = "root/sys/devices/system/cpu/";
  put(cpu + "isolated", "2-29,34-61");
  put(cpu + "nohz_full", "2-29,34-61");
  put(cpu + "cpu0/cpufreq/scaling_governor", "performance");
  put("root/proc/cmdline", "BOOT_IMAGE=x iommu=pt isolcpus=2-29,34-61 rcu_nocbs=2-29,34-61");
  for (int node = 0; node < 4; ++node)
    put("root/sys/devices/system/node/node" + std::to_string(node) + "/hugepages/hugepages-1048576kB/nr_hugepages",
        "16");
  const std::pair<const char*, const char*> devices[] = {{"0000:06:00.0", "0"}, {"0000:06:00.1", "0"},
                                                         {"0000:21:00.0", "1"}, {"0000:21:00.1", "1"},
                                                         {"0000:41:00.0", "2"}, {"0000:61:00.0", "3"}};
  for (const auto& [address, node] : devices) {
    const std::string path = std::string("root/sys/bus/pci/devices/") + address;
    put(path + "/numa_node", node);
    fs::create_directory_symlink("../../../bus/pci/drivers/vfio-pci", directory_ / path / "driver");
  }
  const auto good = shell("vms/check.sh root");
  EXPECT_EQ(good.status, 0) << good.out;
  EXPECT_EQ(good.out.find("FAIL"), std::string::npos) << good.out;
  put(cpu + "isolated", "");
  put("root/sys/devices/system/node/node2/hugepages/hugepages-1048576kB/nr_hugepages", "0");
  const auto bad = shell("vms/check.sh root");
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.out.find("FAIL  isolated CPUs: nothing, expected 2-29,34-61"), std::string::npos) << bad.out;
  EXPECT_NE(bad.out.find("FAIL  huge pages on node 2: 0, expected 16"), std::string::npos) << bad.out;
}

// This machine's own description in all forms: the NUMA nodes and CPUs are the same.
TEST_F(Plan, ReadsThisMachine) {
  if (!has_tool("lstopo") || !has_tool("lscpu")) GTEST_SKIP() << "no hwloc";
  ASSERT_EQ(shell("lstopo --of xml >lstopo.xml; lscpu >lscpu.txt").status, 0);
  for (const char* host : {"lstopo.xml", "lscpu.txt", "/sys"}) {
    const auto ran = weft(std::string("plan vms ") + host + " --vm a=gpu77");
    EXPECT_EQ(ran.status, 2);
    EXPECT_NE(ran.err.find("a: no device gpu77"), std::string::npos) << host << ": " << ran.err;
  }
}

TEST_F(Plan, FabricRunsAsPlanned) {
  for (const char* arguments : {"--gpus 32 --nic 100G --nics-per-host 1", "--gpus 80 --nic 25G --nics-per-host 1",
                                "--gpus 64 --nic 200G --switch sn3700 --spine sn3700"}) {
    const auto planned = weft(std::string("plan fabric ") + arguments + " --out plan");
    ASSERT_EQ(planned.status, 0) << planned.err;
    const auto ran = weft("run plan/lab.yaml --out run");
    EXPECT_EQ(ran.status, 0) << arguments << ran.out << ran.err;
    const auto again = weft(std::string("plan fabric ") + arguments + " --out again");
    EXPECT_EQ(shell("diff -r plan again").out, "");
  }
}

TEST_F(Plan, WrongInput) {
  const std::string host = std::string(WEFT_SOURCE_DIR) + "/labs/hosts/epyc-7551p.txt";
  const struct {
    std::string arguments;
    const char* message;
  } cases[] = {
      {"plan", "A subcommand is required"},
      {"plan vms nowhere --vm a=gpu0", "nowhere: No such file"},
      {"plan vms " + host, "--vm is required"},
      {"plan vms " + host + " --vm a=gpu0 --memory 32", "--memory 32 is no size"},
      {"plan vms " + host + " --vm a=gpu0 --pages 4K", "--pages 4K is no size"},
      {"plan vms " + host + " --vm a=gpu0 --emulator x", "--emulator x is neither"},
      {"plan vms " + host + " --vm a=gpu0 --host-cores -1", "--host-cores"},
      {"plan fabric", "--gpus is required"},
      {"plan fabric --gpus 64 --nic fast", "--nic fast is no rate"},
      {"plan fabric --gpus 64 --oversubscription 0", "oversubscription"},
      {"plan uplink --workload mining", "no workload mining"},
      {"choose", "nothing to choose"},
      {"choose toaster", "no kind toaster"},
      {"choose switch --need fast", "--need fast is not known"},
      {"choose switch --circuit 5", "--circuit 5 is no circuit"},
      {"choose switch --budget -5", "a limit is a number above zero"},
      {"choose --explain sn3700d", "no device sn3700d"},
      {"choose switch --prices nowhere", "nowhere: No such file"},
      {"choose transport", "how many GPUs?"},
  };
  for (const auto& each : cases) {
    const auto ran = weft(each.arguments);
    EXPECT_EQ(ran.status, 2) << each.arguments << ran.out;
    EXPECT_NE(ran.err.find(each.message), std::string::npos) << each.arguments << ": " << ran.err;
    EXPECT_EQ(ran.out, "");
    const auto json = weft(each.arguments + " --json");
    EXPECT_EQ(json.status, 2) << each.arguments;
  }
}

// Each report as JSON has what the text has.
TEST_F(Plan, JsonReports) {
  const std::string host = std::string(WEFT_SOURCE_DIR) + "/labs/hosts/epyc-7551p.txt";
  const struct {
    std::string arguments;
    const char* part;
  } cases[] = {
      {"plan vms " + host + " --vm vm00=gpu0,nic0", "\"isolated\": \"2-7,16-23,34-39,48-55\""},
      {"plan fabric --gpus 64 --nic 200G", "\"leaves\": 1"},
      {"plan uplink", "\"uplink\": \"25 GbE\""},
      {"choose switch --need roce", "\"verdict\": \"fits\""},
      {"choose --explain cx5", "\"device\": \"CX5\""},
      {"choose transport --gpus 64", "\"choice\": \"RoCEv2\""},
  };
  for (const auto& each : cases) {
    const auto ran = weft(each.arguments + " --json");
    EXPECT_EQ(ran.status, 0) << each.arguments << ran.err;
    EXPECT_NE(ran.out.find(each.part), std::string::npos) << each.arguments << ran.out.substr(0, 500);
    if (has_tool("python3")) EXPECT_EQ(shell("python3 -m json.tool out").status, 0) << each.arguments;
  }
  EXPECT_EQ(weft("choose nic --need uec --noise 0 --budget 100 --watts 1").status, 1);  // nothing fits
}

}  // namespace
}  // namespace weft::interop
