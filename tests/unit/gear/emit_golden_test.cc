// One file for each vendor that a person can compare with the guide named in golden/README.md. WEFT_REGENERATE writes
// them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "support/gear_labs.h"

namespace weft::gear {
namespace {

void expect_golden(const std::string& name, const Emission& emission, const std::string& path) {
  const std::string now = support::file_of(emission, path);
  const std::string golden = WEFT_SOURCE_DIR "/tests/unit/gear/golden/" + name;
  if (std::getenv("WEFT_REGENERATE") != nullptr) std::ofstream(golden) << now;
  EXPECT_EQ(support::read_file(golden), now) << name << ": WEFT_REGENERATE=1 writes it anew";
}

TEST(EmitGolden, Vendors) {
  const auto clos = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const auto sonic = support::emitted(clos, "sonic");
  expect_golden("sonic-config_db.json", sonic, "leaf0/config_db.json");
  expect_golden("sonic-commands.sh", sonic, "leaf0/commands.sh");
  const auto nvue = support::emitted(clos, "nvue");
  expect_golden("nvue.sh", nvue, "leaf0/nvue.sh");
  expect_golden("nvue-roce.sh", nvue, "leaf0/nvue-roce.sh");
  expect_golden("linux-bridge.sh", support::emitted(clos, "linux"), "spine0/bridge.sh");
  expect_golden("frr-unnumbered.conf", support::emitted(clos, "frr"), "leaf0/frr.conf");
  EmitOptions numbered;
  numbered.numbered = true;
  expect_golden("frr-numbered.conf", support::emitted(clos, "frr", numbered), "spine0/frr.conf");
  expect_golden("containerlab.clab.yml", support::emitted(clos, "containerlab"), "clos-2x4.clab.yml");
  expect_golden("eos-startup-config", support::emitted(support::small_clos("7050cx3-32s"), "eos"),
                "leaf0/startup-config");
  const auto nexus = support::gear_lab(
      "version: 1\nname: nexus\nfabric:\n  template: leaf-spine\n  hosts: 4\n  leaves: 2\n  spines: 1\n  switch: "
      "n9k-93180yc-fx\n"
      "  host: {nic: cx5-25g, mtu: 4200 B}\nqos: {profile: roce-lossless, pfc: {watchdog: {}}}\n");
  expect_golden("nxos-running-config", support::emitted(nexus, "nxos"), "leaf0/running-config");
  const auto mikrotik = support::gear_lab_file("labs/fabric/small-buffer-crs504.yaml",
                                               {"qos={profile: roce-lossless, pfc: {watchdog: {}}}"});
  expect_golden("routeros.rsc", support::emitted(mikrotik, "routeros"), "leaf0/routeros.rsc");
}

TEST(EmitGolden, Hosts) {
  const auto clos = support::gear_lab_file("labs/gear/clos-2x4.yaml");
  const auto ofed = support::emitted(clos, "host");
  for (const char* name :
       {"roce-qos.sh", "roce-qos.service", "60-roce.yaml", "drivers.sh", "mlxconfig.sh", "nccl.conf", "check.sh"})
    expect_golden(std::string("host-ofed-") + name, ofed, std::string("h0/") + name);
  expect_golden("host-mpirun.sh", ofed, "job/mpirun.sh");
  EmitOptions in_tree;
  in_tree.stack = DriverStack::kInTree;
  expect_golden("host-in-tree-roce-qos.sh", support::emitted(clos, "host", in_tree), "h0/roce-qos.sh");
}

}  // namespace
}  // namespace weft::gear
