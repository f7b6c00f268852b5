// The QoS contract: profiles, keys, overrides, buffers, and what is refused or warned about.
#include "results/qos/qos_text.h"
#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

using fabric::FlowControl;
using fabric::Scheduling;

constexpr std::string_view kFabric =
    "version: 1\nname: q\n"
    "fabric: {template: leaf-spine, hosts: 4, leaves: 2, spines: 1, switch: sn3700c, "
    "host: {nic: cx5-100g, mtu: 4200 B}, cable: {kind: dac, length: 5 m}, uplink_cable: {kind: fibre, length: 40 m}}\n";

std::string with_qos(std::string_view qos) {
  return fmt::format("{}qos: {}\n", kFabric, qos);
}
Lab lab_with(std::string_view qos) {
  return read_good(with_qos(qos));
}
bool warns(const Lab& lab, std::string_view text) {
  for (const Problem& warning : lab.warnings) {
    if (warning.message.find(text) != std::string::npos) return !warning.remedy.empty();
  }
  return false;
}
void expect_warning(std::string_view qos, std::string_view text) {
  const Lab lab = lab_with(qos);
  std::vector<std::string> all;
  for (const Problem& warning : lab.warnings) all.push_back(warning.message);
  EXPECT_TRUE(warns(lab, text)) << qos << " should warn of " << text << "; it has:\n"
                                << fmt::format("{}", fmt::join(all, "\n"));
}

// Cumulus Linux 5.19, nv set qos roce ([cumulus-docs]).
TEST(Qos, RoceLossless) {
  const Lab lab = lab_with("{profile: roce-lossless}");
  const fabric::SwitchQos& qos = lab.switches[0].qos;
  EXPECT_EQ(qos.priority_of_dscp[26], 3);
  EXPECT_EQ(qos.priority_of_dscp[48], 6);
  EXPECT_EQ(qos.priority_of_dscp[0], 0);
  EXPECT_EQ(qos.queue_of_priority, (std::array<std::uint8_t, 8>{0, 0, 0, 3, 0, 0, 6, 0}));
  EXPECT_EQ(qos.queues[6].scheduling, Scheduling::kStrict);
  EXPECT_EQ(qos.queues[3].weight, 50U);
  EXPECT_TRUE(qos.queues[3].ecn.enabled);
  EXPECT_EQ(qos.queues[3].ecn.min_B, 150'000);
  EXPECT_EQ(qos.queues[3].ecn.max_B, 1'500'000);
  EXPECT_EQ(qos.queues[3].ecn.probability_ppb, 1'000'000'000U);
  EXPECT_TRUE(qos.queues[3].lossless);
  EXPECT_FALSE(qos.queues[0].lossless);
  EXPECT_TRUE(qos.groups[3].lossless);
  EXPECT_FALSE(qos.groups[0].lossless);
  EXPECT_EQ(qos.flow_control, FlowControl::kPfc);
  EXPECT_EQ(qos.pfc_receive_mask, 1 << 3);
  EXPECT_EQ(qos.pause_of_group[3], 3);
  const nic::PortQos& host = lab.hosts[0].qos;
  EXPECT_EQ(host.dscp, 26);
  EXPECT_EQ(host.priority, 3);
  EXPECT_EQ(host.flow_control, FlowControl::kPfc);
  EXPECT_EQ(host.pfc_mask, 1 << 3);
  EXPECT_EQ(host.congestion.kind, nic::CongestionKind::kDcqcn);
  EXPECT_EQ(host.congestion.dcqcn.dce_tcp_g, 1019U);
}

TEST(Qos, RoceLossyHasNoPfc) {
  const Lab lab = lab_with("{profile: roce-lossy}");
  EXPECT_EQ(lab.switches[0].qos.flow_control, FlowControl::kNone);
  EXPECT_FALSE(lab.switches[0].qos.groups[3].lossless);
  EXPECT_TRUE(lab.switches[0].qos.queues[3].ecn.enabled);
  EXPECT_EQ(lab.hosts[0].qos.pfc_mask, 0);
  EXPECT_EQ(lab.hosts[0].qos.dscp, 26);
}

// qos_config.j2 of [sonic-buildimage].
TEST(Qos, SonicDefault) {
  const Lab lab = lab_with("{profile: sonic-default}");
  const fabric::SwitchQos& qos = lab.switches[0].qos;
  EXPECT_EQ(qos.priority_of_dscp[26], 1);
  EXPECT_EQ(qos.priority_of_dscp[3], 3);
  EXPECT_EQ(qos.priority_of_dscp[4], 4);
  EXPECT_EQ(qos.priority_of_dscp[5], 2);
  EXPECT_EQ(qos.priority_of_dscp[46], 5);
  EXPECT_EQ(qos.pfc_receive_mask, 0x18);
  EXPECT_EQ(qos.queues[4].ecn.min_B, 1'048'576);
  EXPECT_EQ(qos.queues[4].ecn.max_B, 2'097'152);
  EXPECT_EQ(qos.queues[4].ecn.probability_ppb, 50'000'000U);
  EXPECT_TRUE(qos.watchdog.enabled);
  EXPECT_EQ(qos.watchdog.detection_ps, ms(200));
  EXPECT_EQ(lab.hosts[0].qos.dscp, 3);
}

TEST(Qos, NoneIsBestEffort) {
  const Lab lab = read_good(kFabric);
  const fabric::SwitchQos& qos = lab.switches[0].qos;
  EXPECT_EQ(qos.queue_of_priority[3], 0);
  EXPECT_EQ(qos.flow_control, FlowControl::kNone);
  EXPECT_EQ(lab.hosts[0].qos.congestion.kind, nic::CongestionKind::kDcqcn);
  EXPECT_TRUE(warns(lab, "neither pause nor mark"));
  // Kernel TCP needs neither; one RoCE workload beside it does.
  const std::string tcp = std::string(kFabric) + "workloads:\n  - {name: t, iperf3: -t 1, client: h0, server: h1}\n";
  EXPECT_FALSE(warns(read_good(tcp), "neither pause nor mark"));
  EXPECT_TRUE(
      warns(read_good(tcp + "  - {name: w, perftest: write_bw, client: h0, server: h1}\n"), "neither pause nor mark"));
}

// pg_profile_lookup.ini of SN3700 in [sonic-buildimage]: 100G 5m xoff 33792, 40m 44032, xon 19456.
TEST(Qos, HeadroomFollowsCable) {
  const Lab lab = lab_with("{profile: roce-lossless}");
  const SwitchConfig& leaf = lab.switches[0];
  EXPECT_EQ(leaf.ports[0].headroom_B[3], 33'792);
  EXPECT_EQ(leaf.ports[31].headroom_B[3], 44'032);
  EXPECT_EQ(leaf.ports[0].headroom_B[0], 0);
  EXPECT_EQ(leaf.ports[5].headroom_B[3], 0);  // no cable
  EXPECT_EQ(leaf.qos.groups[3].xon_B, 19'456);
  EXPECT_EQ(leaf.qos.groups[3].reserved_B, 19'456);
  EXPECT_EQ(leaf.qos.ingress_pool_B, 14'542'848);
  EXPECT_EQ(lab_with("{profile: roce-lossless, groups: {3: {headroom: 100 kB}}}").switches[0].ports[0].headroom_B[3],
            100'000);
}

TEST(Qos, Keys) {
  const Lab lab = lab_with(
      "{profile: roce-lossless, dscp_to_priority: {26: 4, 40-47: 5}, priority_to_queue: {4: 2}, "
      "priority_to_group: {4: 2}, pfc: {priorities: [3, 4], quanta: 1000, watchdog: {detection: 300 ms, restoration: "
      "400 ms, "
      "poll: 100 ms, action: forward}}, queues: {2: {scheduling: strict, alpha: -2, reserved: 1 kB, ecn: {min: 10 kB, "
      "max: 20 kB, probability: 1 %, average: 4}}, 3: {ecn: off}}, groups: {2: {alpha: -3, xon: 10 kB, xon_offset: 2 "
      "kB, "
      "reserved: 5 kB}}, buffer: {ingress_pool: 8 MB, egress_pool: 7 MB, headroom_pool: 2 MB}}");
  const fabric::SwitchQos& qos = lab.switches[0].qos;
  EXPECT_EQ(qos.priority_of_dscp[26], 4);
  EXPECT_EQ(qos.priority_of_dscp[47], 5);
  EXPECT_EQ(qos.queue_of_priority[4], 2);
  EXPECT_EQ(qos.pause_of_group[2], 4);
  EXPECT_EQ(qos.queue_of_pause[4], 2);
  EXPECT_EQ(qos.pause_quanta, 1000);
  EXPECT_EQ(qos.watchdog.action, fabric::WatchdogAction::kForward);
  EXPECT_EQ(qos.watchdog.restoration_ps, ms(400));
  EXPECT_EQ(qos.queues[2].scheduling, Scheduling::kStrict);
  EXPECT_EQ(qos.queues[2].alpha_exponent, -2);
  EXPECT_EQ(qos.queues[2].reserved_B, 1000);
  EXPECT_EQ(qos.queues[2].ecn.weight_exponent, 4);
  EXPECT_EQ(qos.queues[2].ecn.probability_ppb, 10'000'000U);
  EXPECT_FALSE(qos.queues[3].ecn.enabled);
  EXPECT_TRUE(qos.groups[2].lossless);
  EXPECT_EQ(qos.groups[2].alpha_exponent, -3);
  EXPECT_EQ(qos.groups[2].xon_B, 10'000);
  EXPECT_EQ(qos.groups[2].xon_offset_B, 2000);
  EXPECT_EQ(qos.ingress_pool_B, 8'000'000);
  EXPECT_EQ(qos.egress_pool_B, 7'000'000);
  EXPECT_EQ(qos.headroom_pool_B, 2'000'000);
}

TEST(Qos, MarkingPointAndThresholds) {
  const Lab lab = lab_with("{profile: roce-lossless, queues: {3: {ecn: {mark: enqueue, not_ect: pass}}}}");
  const fabric::EcnRamp& ramp = lab.switches[0].qos.queues[3].ecn;
  EXPECT_TRUE(ramp.at_enqueue);
  EXPECT_FALSE(ramp.drops_not_ect);
  EXPECT_EQ(ramp.min_B, 150'000);  // as the profile has it
  EXPECT_FALSE(lab.switches[0].qos.queues[0].ecn.at_enqueue);
  EXPECT_TRUE(lab.switches[0].qos.queues[0].ecn.drops_not_ect);
  const std::string text = qos_text(lab, "leaf0");
  EXPECT_NE(text.find("10417 cells, at enqueue; not ECT: pass\n"), std::string::npos) << text;
  EXPECT_NE(text.find("10417 cells, at dequeue; not ECT: drop\n"), std::string::npos) << text;
  const std::string json = qos_json(lab, "leaf0");
  EXPECT_NE(json.find("\"mark\": \"enqueue\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"not_ect\": \"pass\""), std::string::npos) << json;
  // A node may say the opposite of its lab.
  const Lab back = read_good(with_qos("{profile: roce-lossless, queues: {3: {ecn: {mark: enqueue}}}}") +
                             "nodes: {leaf1: {qos: {queues: {3: {ecn: {mark: dequeue}}}}}}\n");
  EXPECT_TRUE(back.switches[0].qos.queues[3].ecn.at_enqueue);
  EXPECT_FALSE(back.switches[1].qos.queues[3].ecn.at_enqueue);
  expect_problem(with_qos("{profile: roce-lossless, queues: {3: {ecn: {mark: ingress}}}}"),
                 "4:56 mark \"ingress\" is not known | write one of dequeue, enqueue");
  expect_problem(with_qos("{profile: roce-lossless, queues: {3: {ecn: {not_ect: mark}}}}"),
                 "4:59 not_ect \"mark\" is not known | write one of drop, pass");
}

// READ responses are not acknowledged: only DCQCN, whose receiver sends CNPs, can slow them down.
TEST(Qos, WarnsOfReadWithoutCongestionControl) {
  constexpr std::string_view kWorkloads[] = {"{name: r, perftest: read_bw, client: h0, server: h2}",
                                             "{name: r, transfer: read, client: h0, server: h2, size: 1 MiB}",
                                             "{name: w, perftest: write_bw, client: h0, server: h2}"};
  for (std::string_view algorithm : {"hpcc", "timely", "swift", "dcqcn", "off"}) {
    for (std::string_view workload : kWorkloads) {
      const Lab lab = read_good(fmt::format(
          "{}workloads: [{}]\n", with_qos(fmt::format("{{congestion: {{algorithm: {}}}}}", algorithm)), workload));
      const bool controls = algorithm == "dcqcn" || algorithm == "off";
      EXPECT_EQ(warns(lab, fmt::format("{} does not control READ", algorithm)),
                !controls && workload.find("read") != std::string_view::npos)
          << algorithm << " " << workload;
    }
  }
}

TEST(Qos, Congestion) {
  const Lab lab =
      lab_with("{congestion: {RPG_AI_RATE: 40, DCE_TCP_G: 1000, MIN_TIME_BETWEEN_CNPS: 50, ROCE_CC_PRIO_MASK: 8}}");
  EXPECT_EQ(lab.hosts[0].qos.congestion.dcqcn.rpg_ai_rate_Mbps, 40U);
  EXPECT_EQ(lab.hosts[0].qos.congestion.dcqcn.dce_tcp_g, 1000U);
  EXPECT_EQ(lab.hosts[0].qos.cc_prio_mask, 8);
  EXPECT_EQ(lab.hosts[0].nics[0].model.min_time_between_cnps_ps, us(50));
  EXPECT_EQ(lab.hosts[0].nics[0].model.cnp_scope, nic::CnpScope::kPort) << "as the NIC has it";
  const Lab paper = lab_with("{congestion: {parameters: paper}}");
  EXPECT_EQ(paper.hosts[0].qos.congestion.dcqcn.rpg_threshold, 5U);
  EXPECT_EQ(paper.hosts[0].nics[0].model.min_time_between_cnps_ps, us(50));
  EXPECT_EQ(paper.hosts[0].nics[0].model.cnp_scope, nic::CnpScope::kQueuePair) << "a CNP per flow";
  const Lab swift = lab_with("{congestion: {algorithm: swift, base_target_ns: 9000}}");
  EXPECT_EQ(swift.hosts[0].qos.congestion.kind, nic::CongestionKind::kSwift);
  EXPECT_EQ(swift.hosts[0].qos.congestion.swift.base_target_ns, 9000U);
  EXPECT_EQ(lab_with("{congestion: {algorithm: off}}").hosts[0].qos.congestion.kind, nic::CongestionKind::kOff);
  expect_problem(with_qos("{congestion: {algorithm: hpcc, RPG_AI_RATE: 5}}"),
                 "4:37 RPG_AI_RATE does not go with algorithm hpcc");
  expect_problem(with_qos("{congestion: {RPG_AI_RAT: 5}}"),
                 "4:20 congestion has no key \"RPG_AI_RAT\" | did you mean RPG_AI_RATE,");
  expect_problem(with_qos("{congestion: {algorithm: off, parameters: paper}}"),
                 "4:48 parameters does not go with algorithm off");
}

TEST(Qos, OverridesPerNode) {
  const Lab lab =
      read_good(with_qos("{profile: roce-lossless}") +
                "nodes: {leaf1: {qos: {queues: {3: {ecn: {min: 50 kB}}}}}, h1: {qos: {dscp: 34, congestion: "
                "{algorithm: off}}}}\n");
  EXPECT_EQ(lab.switches[1].name, "leaf1");
  EXPECT_EQ(lab.switches[1].qos.queues[3].ecn.min_B, 50'000);
  EXPECT_EQ(lab.switches[1].qos.queues[3].ecn.max_B, 1'500'000);
  EXPECT_EQ(lab.switches[0].qos.queues[3].ecn.min_B, 150'000);
  EXPECT_EQ(lab.hosts[1].qos.dscp, 34);
  EXPECT_EQ(lab.hosts[0].qos.dscp, 26);
  EXPECT_EQ(lab.hosts[1].qos.congestion.kind, nic::CongestionKind::kOff);
}

TEST(Qos, Problems) {
  expect_problem(with_qos("{groups: {5: {lossless: true}}}"), "4:19 group 5 is lossless without PFC");
  expect_problem(with_qos("{profile: roce-lossless, pfc: {mode: none}, groups: {3: {lossless: true}}}"),
                 "4:62 group 3 is lossless without PFC | write pfc: {priorities: [3]}, or lossless: false");
  expect_problem(with_qos("{queues: {3: {ecn: {min: 2 MB, max: 1 MB}}}}"),
                 "4:25 ecn of queue 3: min 2 MB is above max 1 MB");
  expect_problem(with_qos("{queues: {3: {ecn: {min: 2 MB}}}}"), "4:25 ecn has no \"max\"");
  expect_problem(with_qos("{dscp_to_priority: {24-31: 3, 26: 4}}"),
                 "4:36 DSCP 26 is mapped twice | the other is in line 4");
  expect_problem(with_qos("{dscp_to_priority: {26: 3, 26: 4}}"), "4:33 key \"26\" is given twice");
  expect_problem(with_qos("{dscp_to_priority: {64: 3}}"), "4:26 \"64\" is not a DSCP");
  expect_problem(with_qos("{queues: {8: {weight: 1}}}"), "4:16 queues: \"8\" is not a class");
  expect_problem(with_qos("{queues: {3: {alpha: 9}}}"), "4:27 alpha \"9\" is not an exponent");
  expect_problem(with_qos("{profile: roce-lossless, buffer: {ingress_pool: 40 MB}}"), "4:39 leaf0: 112 kB of headroom");
  expect_problem(with_qos("{profile: roce-lossless, groups: {3: {headroom: 20 MB}}}"),
                 "4:6 leaf0: 60.0 MB of headroom");
  expect_problem(with_qos("{profile: roce-lossless, pfc: {priorities: [1, 2]}}"),
                 "4:49 PFC priorities 1 and 2 share group 0: it can ask for one of them only");
}

TEST(Qos, Warnings) {
  EXPECT_TRUE(lab_with("{profile: roce-lossless, pfc: {watchdog: {action: drop}}}").warnings.empty());
  EXPECT_TRUE(lab_with("{profile: roce-lossy}").warnings.empty());
  expect_warning("{profile: roce-lossless}", "more than two switches without a watchdog");
  expect_warning("{profile: roce-lossless, cnp_dscp: 26}", "CNPs share priority 3");
  expect_warning("{profile: sonic-default, cnp_dscp: 4}", "CNPs are in the lossless priority 4");
  expect_warning("{profile: sonic-default, dscp: 26}", "RoCE is sent with DSCP 26, which is priority 1: not lossless");
  expect_warning("{profile: roce-lossless, queues: {3: {ecn: off}}}", "lossless queue 3 does not mark");
  expect_warning("{profile: roce-lossless, queues: {3: {ecn: {max: 20 MB}}}}", "is above the pool");
  expect_warning("{profile: sonic-default, pfc: {priorities: [7]}}", "PFC on priority 7: no DSCP maps to it");
  expect_warning("{profile: roce-lossless, pfc: {watchdog: {detection: 10 ms, poll: 10 ms}}}",
                 "watchdog detection of 10 ms: SONiC takes 100 ms to 5 s");
  expect_warning("{profile: roce-lossless, pfc: {watchdog: {poll: 20 ms}}}",
                 "watchdog poll of 20 ms: SONiC takes 100 ms to 1 s");
  expect_warning("{profile: roce-lossless, groups: {3: {headroom: 4 kB}}}",
                 "headroom 4 kB of group 3: sn3700c at 100 Gbps over 5 m needs 25.92 kB");
}

// The catalog: sn3700c has no INT, as7726-32x has.
TEST(Qos, HpccNeedsInt) {
  constexpr std::string_view kQos =
      "{profile: roce-lossless, pfc: {watchdog: {action: drop}}, congestion: {algorithm: hpcc}}";
  const Lab lab = lab_with(kQos);
  ASSERT_EQ(lab.warnings.size(), 1U);  // once, however many hosts and switches
  EXPECT_EQ(lab.warnings[0].message, "hpcc needs INT, and a real sn3700c writes none: here it does");
  EXPECT_EQ(lab.warnings[0].line, 4);
  EXPECT_EQ(lab.warnings[0].column, 76);
  std::string able = with_qos(kQos);
  able.replace(able.find("sn3700c"), 7, "as7726-32x");
  EXPECT_FALSE(warns(read_good(able), "hpcc needs INT"));
  expect_warning("{profile: roce-lossless}\nnodes: {h1: {qos: {congestion: {algorithm: hpcc}}}}", "hpcc needs INT");
  EXPECT_FALSE(warns(lab_with("{profile: roce-lossless, congestion: {algorithm: swift}}"), "INT"));
}

TEST(Qos, DevicesWithoutPfc) {
  std::string text = with_qos("{profile: roce-lossless, pfc: {watchdog: {action: drop}}}");
  EXPECT_TRUE(read_good(text).warnings.empty());
  const Lab lab = read_good(
      "version: 1\nname: plain\nnodes:\n"
      "  a: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24}}}]}\n"
      "  s: {kind: switch, model: sn3700c, set: {has_pfc: false}}\n"
      "links:\n  - endpoints: [\"a:p0\", \"s:swp1\"]\nqos: {profile: roce-lossless}\n");
  ASSERT_EQ(lab.warnings.size(), 1U);
  EXPECT_EQ(lab.warnings[0].message, "sn3700c has no PFC: the model pauses all the same");
}

TEST(Qos, OneSubnetOverTwoSwitches) {
  const Lab lab = read_good(
      "version: 1\nname: s\nnodes:\n"
      "  a: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24}}}]}\n"
      "  b: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.2/24}}}]}\n"
      "  s1: {kind: switch, model: sn3700c}\n  s2: {kind: switch, model: sn3700c}\n"
      "links:\n  - endpoints: [\"a:p0\", \"s1:swp1\"]\n  - endpoints: [\"b:p0\", \"s2:swp1\"]\n"
      "  - endpoints: [\"s1:swp2\", \"s2:swp2\"]\nqos: {profile: roce-lossy}\n");
  EXPECT_TRUE(warns(lab, "10.0.0.0/24 is one subnet over s1 and s2"));
  ASSERT_EQ(lab.warnings.size(), 1U);
  EXPECT_EQ(lab.warnings[0].line, 5);
}

TEST(Qos, TextShowsChainAndCells) {
  const Lab lab = lab_with("{profile: roce-lossless}");
  const std::string text = qos_text(lab, "leaf0");
  EXPECT_NE(text.find("24-31"), std::string::npos) << text;
  EXPECT_NE(text.find("swp1..2  100 Gbps  5 m "), std::string::npos) << text;
  // What is treated alike is one row: all that is neither RoCE nor CNP.
  EXPECT_NE(text.find("0-23, 32-47, 56-63  0-2, 4-5, 7  "), std::string::npos) << text;
  // 33792 / 144 = 234.67
  EXPECT_NE(text.find("33.792 kB → 235 cells"), std::string::npos) << text;
  EXPECT_NE(text.find("150 kB to 1.5 MB, 100 %"), std::string::npos) << text;
  // 150000 / 144 = 1041.67, 1500000 / 144 = 10416.67
  EXPECT_NE(text.find("queue 3 marks from 150 kB → 1042 cells to 1.5 MB → 10417 cells"), std::string::npos);
  const std::string all = qos_text(lab);
  EXPECT_NE(all.find("leaf0, leaf1\n"), std::string::npos) << all;
  EXPECT_NE(all.find("h0, h1, h2, h3\n"), std::string::npos) << all;
  const std::string json = qos_json(lab, "leaf0");
  EXPECT_NE(json.find("\"programmed_B\": 33840"), std::string::npos) << json;
}

}  // namespace
}  // namespace weft::lab
