#include "gear/doctor/doctor.h"

#include <gtest/gtest.h>

#include <set>

#include "gear/bundle/files.h"
#include "support/doctor_bundles.h"

namespace weft::gear {
namespace {

std::vector<std::string> ids_of(const Diagnosis& diagnosis) {
  std::vector<std::string> ids;
  for (const Finding& finding : diagnosis.findings) ids.emplace_back(finding.id);
  return ids;
}

Diagnosis diagnosis_of(const support::DoctorCase& each) {
  const SiteFiles files = each.site();
  for (const FileProblem& problem : files.problems) ADD_FAILURE() << problem.file << ": " << problem.problem.message;
  return diagnose(files.site);
}

TEST(Doctor, FindsInjectedFaults) {
  const auto cases = support::DoctorCase::all("cases");
  EXPECT_GE(cases.size(), 30u);
  std::set<std::string> found;
  for (const support::DoctorCase& each : cases) {
    SCOPED_TRACE(each.name());
    const Diagnosis diagnosis = diagnosis_of(each);
    EXPECT_EQ(ids_of(diagnosis), each.expected()) << diagnosis_text(diagnosis);
    const auto bundles = each.bundles();
    for (const Finding& finding : diagnosis.findings) {
      found.emplace(finding.id);
      EXPECT_FALSE(finding.evidence.empty());
      EXPECT_FALSE(finding.fix.empty());
      EXPECT_FALSE(finding.where.empty());
      for (const Evidence& evidence : finding.evidence) {
        if (evidence.line == 0) continue;
        // The line is where the evidence says.
        const auto bundle = bundles.find(evidence.file.substr(0, evidence.file.find('.')));
        ASSERT_NE(bundle, bundles.end()) << evidence.file;
        std::istringstream in(bundle->second);
        std::string line;
        for (int i = 0; i < evidence.line; ++i) std::getline(in, line);
        EXPECT_EQ(trimmed(line).substr(0, 200), evidence.text) << finding.id << " " << evidence.line;
      }
    }
  }
  for (const FindingKind& kind : finding_kinds()) EXPECT_TRUE(found.contains(std::string(kind.id))) << kind.id;
}

TEST(Doctor, HealthyBundlesHaveNoFindings) {
  const auto cases = support::DoctorCase::all("healthy");
  EXPECT_GE(cases.size(), 10u);
  for (const support::DoctorCase& each : cases) {
    SCOPED_TRACE(each.name());
    const Diagnosis diagnosis = diagnosis_of(each);
    EXPECT_TRUE(diagnosis.findings.empty()) << diagnosis_text(diagnosis);
  }
}

TEST(Doctor, CausesComeBeforeSymptoms) {
  // All cases of one host at once: the findings are in the order of the list.
  Findings findings;
  const auto kinds = finding_kinds();
  for (std::size_t i = kinds.size(); i-- > 0;) findings.add(kinds[i].id, "b", "", {}, {});
  findings.add("link-down", "a", "", {}, {});
  const std::vector<Finding> sorted = findings.take();
  ASSERT_EQ(sorted.size(), kinds.size() + 1);
  std::vector<std::string_view> ids;
  for (const Finding& finding : sorted) ids.push_back(finding.id);
  const auto rank = [&](std::string_view id) { return std::find(ids.begin(), ids.end(), id) - ids.begin(); };
  // The order of suspicion: the link, MTU, PFC, cable, PCIe, NUMA; then what counters show, then the host.
  const char* const order[] = {"link-down",      "link-rate",       "mtu-small",     "pfc-off",
                               "symbol-errors",  "pcie-speed",      "numa-distance", "peermem-missing",
                               "watchdog-storm", "retransmissions", "governor"};
  for (std::size_t i = 0; i + 1 < std::size(order); ++i) EXPECT_LT(rank(order[i]), rank(order[i + 1])) << order[i];
  EXPECT_EQ(sorted[static_cast<std::size_t>(rank("link-down"))].where, "a");
}

TEST(Doctor, NamesBrokenLeg) {
  for (const support::DoctorCase& each : support::DoctorCase::all("cases")) {
    if (each.name() != "dscp-differs-from-switch") continue;
    const Diagnosis diagnosis = diagnosis_of(each);
    ASSERT_FALSE(diagnosis.findings.empty());
    const Finding& finding = diagnosis.findings.front();
    EXPECT_EQ(finding.where, "gpu01 mlx5_0 (ens1f0np0)");
    EXPECT_EQ(finding.message,
              "the NIC sends RoCE with DSCP 26; leaf1 Ethernet0 puts DSCP 26 into traffic class 1, priority group 0; "
              "PFC is on 3");
    EXPECT_EQ(finding.fix.front(), "on leaf1: in DSCP_TO_TC_MAP: \"26\": \"3\", then config reload");
    return;
  }
  FAIL();
}

TEST(Doctor, PrintsTextAndJson) {
  Diagnosis diagnosis;
  diagnosis.hosts = {"gpu01"};
  diagnosis.findings.push_back({"pfc-off",
                                "gpu01 mlx5_0",
                                "PFC is off",
                                {{"a.txt", "mlnx_qos -i x", 7, "enabled \x1b[31m"}},
                                {"mlnx_qos --pfc"}});
  diagnosis.unchecked = {"gpu01: PCIe links"};
  EXPECT_EQ(diagnosis_text(diagnosis),
            "1. gpu01 mlx5_0: PFC off [pfc-off, broken]\n"
            "   PFC is off\n"
            "   seen: a.txt:7 (mlnx_qos -i x): enabled ?[31m\n"
            "   fix:  mlnx_qos --pfc\n"
            "\n"
            "not checked: gpu01: PCIe links\n"
            "1 host: 1 finding\n");
  const std::string json = diagnosis_json(diagnosis);
  for (const char* part :
       {"\"healthy\": false", "\"id\": \"pfc-off\"", "\"severity\": \"broken\"", "\"line\": 7", "\"unchecked\""})
    EXPECT_NE(json.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace weft::gear
