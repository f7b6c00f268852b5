// A thousand random fabrics: every packet is accounted for, lossless classes with enough headroom lose nothing, every
// pause ends for a reason, buffers are empty when idle, and neither domains, threads nor windows change anything.
// WEFT_FABRIC_LABS sets how many, WEFT_FABRIC_FIRST from which seed on; WEFT_FABRIC_SEED runs one lab alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <tuple>

#include "support/fabric_run.h"
#include "support/random_lab.h"
#include "support/sanitized.h"

namespace weft {
namespace {

using fabric::Fate;
using support::FabricRun;

constexpr std::uint64_t kFirstSeed = 1;

constexpr std::uint64_t kLabs = support::kSanitized ? 60 : 1000;
constexpr std::uint64_t kThreadedEvery = 10;

std::uint64_t asked(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

bool balances(const lab::WorldLink& link) {
  const fabric::Ledger& sent = link.direction->sent;
  return sent.sent + sent.copies == sent.ended() + link.direction->received.ended() + link.direction->in_flight();
}

void check_ledgers(FabricRun& run) {
  lab::World& world = run.world();
  for (const lab::WorldLink& link : world.links()) {
    EXPECT_TRUE(balances(link)) << world.book()[link.from].name << " -> " << world.book()[link.to].name;
    if (run.at_rest()) {
      EXPECT_EQ(link.direction->in_flight(), 0U) << world.book()[link.from].name;
    }
  }
  for (std::uint32_t s = 0; s < world.switch_count(); ++s) EXPECT_TRUE(world.fabric_switch(s).balances()) << s;
}

// What can make more arrive after XOFF than a wire carries, or lose the XOFF: then no headroom is enough.
bool breaks_headroom(const lab::Lab& lab, const lab::LinkConfig& link, const lab::PortRef& port) {
  using fabric::FaultAction;
  const lab::PortRef& peer = link.a == port ? link.b : link.a;
  const bool forwards = peer.is_switch() && lab.switches[peer.host].qos.watchdog.enabled &&
                        lab.switches[peer.host].qos.watchdog.action == fabric::WatchdogAction::kForward;
  if (forwards || link.bit_error_rate > 0) return true;
  if (lab.switches[port.host].routing.cpu_forwarding) return true;  // a queue of its own before the buffer
  return std::any_of(lab.faults.begin(), lab.faults.end(), [&](const lab::FaultConfig& fault) {
    if (fault.from != link.a && fault.from != link.b) return false;
    const FaultAction action = fault.rule.action;
    return action == FaultAction::kDelay || action == FaultAction::kDuplicate || action == FaultAction::kCut ||
           action == FaultAction::kFlap;
  });
}

int check_headroom(const lab::Lab& lab, FabricRun& run) {
  int checked = 0;
  for (const lab::LinkConfig& link : lab.links) {
    for (const lab::PortRef& port : {link.a, link.b}) {
      if (!port.is_switch() || breaks_headroom(lab, link, port)) continue;
      const std::vector<std::uint32_t>& cabled = run.world().cabled_ports(port.host);
      const auto index =
          static_cast<std::uint32_t>(std::find(cabled.begin(), cabled.end(), port.port) - cabled.begin());
      const fabric::SwitchPortCounters counters = run.world().fabric_switch(port.host).counters(index);
      const std::int64_t need_B = fabric::headroom_need_B(support::headroom_path(lab, link, port));
      for (std::size_t g = 0; g < fabric::kClasses; ++g) {
        const lab::SwitchConfig& device = lab.switches[port.host];
        if (!device.qos.groups[g].lossless || device.ports[port.port].headroom_B[g] < need_B) continue;
        if (device.qos.headroom_pool_B > 0) continue;  // shared with others: what is left is not known
        EXPECT_EQ(counters.group_drops[g], 0U) << lab::port_name(lab, port) << " group " << g << ", needs " << need_B;
        if (run.world().fabric_switch(port.host).buffer().max_headroom_B(index, static_cast<std::uint32_t>(g)) > 0)
          ++checked;
      }
    }
  }
  return checked;
}

// Starts and ends of each (port, class, direction) take turns; when idle everything has ended. Returns what is open, as
// (port, class, sent).
using PauseKey = std::tuple<std::uint32_t, std::uint8_t, bool>;
template <class Log>
std::map<PauseKey, bool> check_pause_log(const Log& log, bool at_rest, const std::string& who) {
  std::map<PauseKey, bool> open;
  if (log.total > log.records.size()) return open;
  Time_ps last_ps = 0;
  for (const fabric::PauseEvent& event : log.records) {
    EXPECT_GE(event.time_ps, last_ps) << who;
    last_ps = event.time_ps;
    bool& is_open = open[{event.port, event.pause_class, event.sent}];
    EXPECT_NE(is_open, event.what == fabric::PauseEnd::kStart) << who << " port " << event.port;
    is_open = event.what == fabric::PauseEnd::kStart;
  }
  for (const auto& [key, is_open] : open) EXPECT_FALSE(at_rest && is_open) << who << " port " << std::get<0>(key);
  return open;
}

// What the logs say is open is what is in force.
void check_pauses(FabricRun& run) {
  lab::World& world = run.world();
  for (std::uint32_t s = 0; s < world.switch_count(); ++s) {
    const fabric::Switch& device = world.fabric_switch(s);
    const std::string who = fmt::format("switch {}", s);
    for (const auto& [key, is_open] : check_pause_log(device.pause_log(), run.at_rest(), who)) {
      const auto [port, pause_class, sent] = key;
      std::uint8_t in_force = device.pause(port).blocked();
      if (sent) {
        in_force = 0;
        for (std::uint32_t g = 0; g < fabric::kClasses; ++g) {
          if (device.xoff_groups(port) >> g & 1)
            in_force = static_cast<std::uint8_t>(in_force | 1U << device.setup().qos.pause_of_group[g]);
        }
      }
      EXPECT_EQ((in_force >> pause_class & 1) != 0, is_open) << who << " port " << port;
    }
  }
  for (std::uint32_t port = 0; port < world.port_count(); ++port) {
    const nic::Device* device = world.device(port);
    if (device == nullptr) continue;
    const std::string who = fmt::format("host port {}", port);
    for (const auto& [key, is_open] : check_pause_log(device->pauses().log(), run.at_rest(), who)) {
      if (std::get<2>(key)) continue;
      EXPECT_EQ((device->pauses().received().blocked() >> std::get<1>(key) & 1) != 0, is_open) << who;
    }
  }
}

void check_rest(FabricRun& run) {
  if (!run.at_rest()) return;
  for (std::uint32_t s = 0; s < run.world().switch_count(); ++s) {
    EXPECT_TRUE(run.world().fabric_switch(s).buffer().is_empty()) << "switch " << s;
    EXPECT_EQ(run.world().fabric_switch(s).held_packets(), 0U) << "switch " << s;
  }
  for (std::uint32_t port = 0; port < run.world().port_count(); ++port) {
    if (nic::Device* device = run.world().device(port)) {
      EXPECT_EQ(device->pauses().received().blocked(), 0) << "host port " << port;
    }
  }
  std::size_t pairs = 0;
  for (const auto& flows : run.flows()) {
    pairs += 2 * flows->rows().size();
    for (const workload::FlowRow& row : flows->rows()) {
      EXPECT_TRUE(row.state == workload::FlowState::kDone || row.state == workload::FlowState::kFailed)
          << "flow " << row.id << " hangs";
    }
  }
  // A packet's cold side ends with it; only a responder keeps what it will echo.
  for (std::uint32_t d = 0; d < run.world().engine().domain_count(); ++d) {
    const engine::Domain& domain = run.world().engine().domain(d);
    EXPECT_EQ(domain.cold.in_use(), 0U);
    EXPECT_EQ(domain.payload.in_use(), 0U);
    EXPECT_LE(domain.telemetry.in_use(), pairs);
  }
}

struct Coverage {
  int labs = 0, pauses = 0, marks = 0, drops = 0, reroutes = 0, storms = 0;
  int rest = 0, headroom = 0, no_headroom = 0;
  std::uint64_t hops = 0, done = 0, failed = 0, unfinished = 0;
};

// A cable between switches that carried packets went down, and flows were still running when routes had changed.
bool has_rerouted(FabricRun& run) {
  Time_ps last_ps = 0;
  for (const auto& flows : run.flows()) {
    for (const workload::FlowRow& row : flows->rows())
      last_ps = std::max(last_ps, row.state == workload::FlowState::kDone ? row.end_ps : 0);
  }
  for (std::uint32_t s = 0; s < run.world().switch_count(); ++s) {
    const fabric::SwitchSetup& setup = run.world().fabric_switch(s).setup();
    if (setup.routes.size() < 2 || setup.routes[1].from_ps >= last_ps) continue;
    for (const fabric::LinkChange& change : setup.link_changes) {
      const fabric::SwitchPortCounters counters = run.world().fabric_switch(s).counters(change.port);
      if (std::any_of(counters.tx.begin(), counters.tx.end(), [](const auto& tx) { return tx.packets > 0; }))
        return true;
    }
  }
  return false;
}

void note(FabricRun& run, Coverage& coverage) {
  bool pauses = false, marks = false, drops = false, storms = false, no_headroom = false;
  for (std::uint32_t s = 0; s < run.world().switch_count(); ++s) {
    const fabric::Switch& device = run.world().fabric_switch(s);
    drops |= device.drops().total() > 0;
    for (std::uint32_t p = 0; p < device.port_count(); ++p) {
      const fabric::SwitchPortCounters counters = device.counters(p);
      no_headroom |= counters.drops[static_cast<std::size_t>(Fate::kNoHeadroom)] > 0;
      for (std::size_t c = 0; c < fabric::kClasses; ++c) {
        pauses |= counters.xoff_tx[c] > 0;
        marks |= counters.ecn_marked[c] > 0;
        storms |= counters.storms[c] > 0;
      }
    }
  }
  ++coverage.labs;
  coverage.pauses += pauses;
  coverage.marks += marks;
  coverage.drops += drops;
  coverage.storms += storms;
  coverage.no_headroom += no_headroom;
  coverage.reroutes += has_rerouted(run);
  coverage.rest += run.at_rest();
  coverage.hops += run.world().hops();
  for (const auto& flows : run.flows()) {
    for (const workload::FlowRow& row : flows->rows()) {
      coverage.done += row.state == workload::FlowState::kDone;
      coverage.failed += row.state == workload::FlowState::kFailed;
      coverage.unfinished += row.state < workload::FlowState::kDone;
    }
  }
}

void check_lab(std::uint64_t seed, bool threaded, Coverage& coverage) {
  const lab::Lab lab = support::random_lab(seed);
  SCOPED_TRACE(fmt::format("WEFT_FABRIC_SEED={}", seed));
  FabricRun run(lab, {});
  check_ledgers(run);
  coverage.headroom += check_headroom(lab, run) > 0;
  check_pauses(run);
  check_rest(run);
  note(run, coverage);
  const std::uint64_t expected = run.digest();
  EXPECT_EQ(FabricRun(lab, {2, 1, 1}).digest(), expected) << "2 domains";
  EXPECT_EQ(FabricRun(lab, {3, 1, 1}).digest(), expected) << "3 domains";
  EXPECT_EQ(FabricRun(lab, {1, 1, 3}).digest(), expected) << "window / 3";
  if (threaded) {
    EXPECT_EQ(FabricRun(lab, {2, 2, 1}).digest(), expected) << "2 threads";
  }
}

TEST(FabricProperty, RandomFabricsKeepInvariants) {
  Coverage coverage;
  if (const char* seed = std::getenv("WEFT_FABRIC_SEED")) {
    check_lab(std::strtoull(seed, nullptr, 10), true, coverage);
    return;
  }
  const std::uint64_t labs = asked("WEFT_FABRIC_LABS", kLabs);
  const std::uint64_t first = asked("WEFT_FABRIC_FIRST", kFirstSeed);
  for (std::uint64_t i = 0; i < labs && !HasFailure(); ++i) check_lab(first + i, i % kThreadedEvery == 0, coverage);
  const auto share = [&](int n) { return 100.0 * n / std::max(coverage.labs, 1); };
  fmt::print(
      "{} labs, {} hops: pauses {:.1f} %, marks {:.1f} %, drops {:.1f} %, reroutes {:.1f} %, storms {:.1f} %; at rest "
      "{:.1f} %, headroom used and enough {:.1f} %, headroom exhausted {:.1f} %; flows {} done, {} failed, {} "
      "unfinished\n",
      coverage.labs, coverage.hops, share(coverage.pauses), share(coverage.marks), share(coverage.drops),
      share(coverage.reroutes), share(coverage.storms), share(coverage.rest), share(coverage.headroom),
      share(coverage.no_headroom), coverage.done, coverage.failed, coverage.unfinished);
  if (coverage.labs < 50) return;
  for (int n : {coverage.pauses, coverage.marks, coverage.drops, coverage.reroutes, coverage.storms, coverage.headroom})
    EXPECT_GE(share(n), 10);
}

}  // namespace
}  // namespace weft
