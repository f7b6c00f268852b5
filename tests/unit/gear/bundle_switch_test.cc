// What weft emits for a switch is what weft doctor reads of one: the configurations of tests/unit/gear/golden.
#include <gtest/gtest.h>

#include <random>

#include "gear/bundle/files.h"
#include "support/doctor_bundles.h"

namespace weft::gear {
namespace {

std::string bundle_of(const std::string& command, const std::string& file) {
  const std::string golden = std::string(WEFT_SOURCE_DIR) + "/tests/unit/gear/golden/" + file;
  return "# weft bundle 1\n# host: leaf0\n=== " + command + "\n" + support::slurp(golden) + "=== end\n";
}

struct EmittedSwitch {
  const char *command, *file, *port;
  SwitchOs os;
  std::uint64_t mtu;
  const char* fec;
};
constexpr EmittedSwitch kEmitted[] = {
    {"show running-config", "eos-startup-config", "Ethernet1/1", SwitchOs::kEos, 9214, "rs"},
    {"show running-config", "nxos-running-config", "Ethernet1/54", SwitchOs::kNxos, 9216, "rs"},
    {"nv config show -o commands", "nvue.sh", "swp31", SwitchOs::kCumulus, 9216, "rs"},
    {"nv config show -o commands", "nvue-roce.sh", "swp1", SwitchOs::kCumulus, 9216, "rs"},
};

TEST(BundleSwitch, ReadsEmittedConfigurations) {
  for (const EmittedSwitch& each : kEmitted) {
    SCOPED_TRACE(each.file);
    SiteFiles files;
    add_to_site(bundle_of(each.command, each.file), "leaf0.txt", files);
    ASSERT_TRUE(files.problems.empty()) << files.problems[0].problem.message;
    ASSERT_EQ(files.site.switches.size(), 1u);
    const SwitchState& device = files.site.switches[0];
    EXPECT_EQ(device.os, each.os);
    ASSERT_TRUE(device.ports.contains(each.port));
    const SwitchPort& port = device.ports.at(each.port);
    ASSERT_TRUE(port.pfc && port.mtu && port.fec);
    EXPECT_EQ(port.pfc->value, 1 << 3);
    EXPECT_EQ(port.mtu->value, each.mtu);
    EXPECT_EQ(port.fec->value, each.fec);
    EXPECT_EQ(device.traffic_class(port, 26), 3u);
    EXPECT_EQ(device.traffic_class(port, 48), 6u);
    EXPECT_EQ(device.traffic_class(port, 0), 0u);
    EXPECT_TRUE(port.queue_wred.contains(3));
    EXPECT_FALSE(port.queue_wred.contains(6));
    const Diagnosis diagnosis = diagnose(files.site);
    EXPECT_TRUE(diagnosis.findings.empty()) << diagnosis_text(diagnosis);
  }
}

// Bytes that were changed at random are a switch or an error, never a crash; what was read can be diagnosed.
TEST(BundleSwitch, SurvivesDamagedText) {
  std::mt19937 random(1);
  for (const char* name : {"eos1", "nxos1", "cumulus1", "bridge1"}) {
    const std::string good = support::slurp(support::DoctorCase::data() / (std::string(name) + ".txt"));
    for (int round = 0; round < 60; ++round) {
      std::string text = good;
      for (int i = 0; i < 40; ++i) {
        const std::size_t at = 40 + random() % (text.size() - 60);
        const std::size_t size = random() % 12;
        if (round % 2 == 0) {
          text[at] = static_cast<char>(' ' + random() % 95);
        } else {
          text.erase(at, size);
        }
      }
      SiteFiles files;
      add_to_site(text, "s.txt", files);
      EXPECT_FALSE(diagnosis_json(diagnose(files.site)).empty());
    }
  }
}

}  // namespace
}  // namespace weft::gear
