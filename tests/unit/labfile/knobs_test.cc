#include "labfile/knobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "labfile/reader.h"
#include "text/yaml_edit.h"

namespace weft::lab {
namespace {

constexpr const char* kLab = R"(version: 1
name: incast
fabric:
  template: single-switch
  hosts: 5
  switch: sn3700c
  host: {nic: cx5-100g, mtu: 4200 B}
qos: {profile: roce-lossless}
workloads:
  - {name: incast, flows: incast, hosts: all, to: h0, size: 2 MB}
)";

const Knob* find_knob(const std::vector<Knob>& knobs, std::string_view path) {
  const auto it = std::find_if(knobs.begin(), knobs.end(), [&](const Knob& knob) { return knob.path == path; });
  return it == knobs.end() ? nullptr : &*it;
}

TEST(Knobs, ShowWhatFileSaysAndWhatHolds) {
  const auto lab = read_lab(kLab, "lab.yaml");
  ASSERT_TRUE(lab);
  const auto knobs = knobs_of(*lab, kLab);
  const Knob* size = find_knob(knobs, "workloads[incast].size");
  ASSERT_NE(size, nullptr);
  EXPECT_EQ(size->value, "2 MB");
  const Knob* min = find_knob(knobs, "qos.queues.3.ecn.min");
  ASSERT_NE(min, nullptr);
  EXPECT_EQ(min->value, "");
  EXPECT_EQ(min->in_force, "150 kB");
}

// Every knob's path is one that the file can be edited at, and the lab is then read with what the knob showed.
TEST(Knobs, PathsTakeTheirOwnValues) {
  const auto lab = read_lab(kLab, "lab.yaml");
  ASSERT_TRUE(lab);
  for (const Knob& knob : knobs_of(*lab, kLab)) {
    SCOPED_TRACE(knob.path + "=" + knob.in_force);
    if (knob.in_force.empty()) continue;  // nothing is known to write
    const auto edited = edit_yaml(kLab, knob.path, knob.in_force);
    ASSERT_TRUE(edited) << edited.error();
    const auto again = read_lab(*edited, "lab.yaml");
    EXPECT_TRUE(again) << (again ? "" : again.error().front().message);
    if (!again) continue;
    const auto knobs = knobs_of(*again, *edited);
    const Knob* same = find_knob(knobs, knob.path);
    ASSERT_NE(same, nullptr);
    EXPECT_EQ(same->value, knob.in_force);
  }
}

}  // namespace
}  // namespace weft::lab
