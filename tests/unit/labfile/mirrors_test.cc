#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

std::string with_mirror(std::string_view mirror, std::string_view model = "sn3700c") {
  return fmt::format(
      "version: 1\nname: m\nfabric: {{template: single-switch, hosts: 2, switch: {}, host: {{nic: cx5-100g}}}}\n"
      "mirrors:\n  - {}\n",
      model, mirror);
}

TEST(LabMirrors, Defaults) {
  const Lab lab = read_good(with_mirror("{port: \"leaf0:swp2\"}"));
  ASSERT_EQ(lab.mirrors.size(), 1U);
  EXPECT_EQ(port_name(lab, lab.mirrors[0].port), "leaf0:swp2");
  EXPECT_EQ(lab.mirrors[0].direction, MirrorDirection::kBoth);
  EXPECT_EQ(lab.mirrors[0].kind, MirrorKind::kSpan);
  EXPECT_EQ(lab.mirrors[0].session, 1);
}

TEST(LabMirrors, AllKeys) {
  const MirrorConfig mirror =
      read_good(with_mirror("{port: \"leaf0:swp1\", direction: egress, as: erspan3, session: 77, to: 10.9.8.7}"))
          .mirrors.at(0);
  EXPECT_EQ(mirror.direction, MirrorDirection::kEgress);
  EXPECT_EQ(mirror.kind, MirrorKind::kErspan3);
  EXPECT_EQ(mirror.session, 77);
  EXPECT_EQ(to_string(mirror.collector), "10.9.8.7");
}

TEST(LabMirrors, Problems) {
  expect_problem(with_mirror("{port: \"h0:p0\"}"), "5:12 only a switch mirrors");
  expect_problem(with_mirror("{port: \"leaf0:swp9\"}"), "5:12 no cable ends at this port");
  expect_problem(with_mirror("{port: \"leaf0:swp1\", to: 10.0.0.1}"), "5:30 SPAN has no collector");
  expect_problem(with_mirror("{port: \"leaf0:swp1\", as: erspan2, to: fd00::1}"),
                 "5:43 fd00::1 is not an IPv4 address");
  expect_problem(with_mirror("{port: \"leaf0:swp1\", session: 1024}"), "5:35 session 1024 is out of range");
  expect_problem(with_mirror("{port: \"leaf0:qsfp28-1\", as: erspan2}", "crs504"),
                 "5:12 crs504 has no ERSPAN | as: span");
}

}  // namespace
}  // namespace weft::lab
